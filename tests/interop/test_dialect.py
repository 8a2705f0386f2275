"""TVM's dialect both ways, against the package itself: what we print it parses to what it had, what it prints we read."""

from __future__ import annotations

import base64
import os
from itertools import product
from typing import Any

import hypothesis
import numpy as np
import pytest

import tirscript
from tirscript.ir import (
    BufferData,
    Call,
    CallFunction,
    Const,
    DiagnosticError,
    For,
    LaunchThread,
    PrimFunc,
    structural_equal,
    walk,
)
from tirscript.ir.constant import constants_of
from tirscript.ir.op import FOREIGN
from tirscript.script import parse
from tirscript.testing import Example, examples, largest_error, programs, tolerance
from tirscript.testing.draw import extent, numpy_type

CASES = int(os.environ.get("TIRSCRIPT_CASES", "1000"))
# of the programs that the package makes and can run, so many are run here too
RUNS = min(CASES, 250)
ON_A_CPU = ("llvm", "c")  # targets; a function for any other takes no arrays in the memory of the host
# what TVM compiles though it means nothing
MEANINGLESS = {
    "T.evaluate(bool[1] - bool[1])": "of bools it compiles no sum and no product; a difference is there by oversight",
}


@pytest.fixture(scope="module")
def corpus(tvm: Any) -> list[tuple[str, str]]:
    """Programs that the package makes, with their names."""
    return [(name, text) for name, text in tvm.ask("corpus", max(1, 1000 // CASES))["texts"]]


@pytest.mark.parametrize(
    "example", [one for one in examples() if not constants_of(one.kernel)], ids=lambda example: example.name
)
def test_examples(tvm: Any, example: Example) -> None:
    text = example.kernel.script(dialect="tvm")
    read = parse(tvm.parse(text))
    assert tvm.equal(read.script(dialect="tvm"), text)


def test_what_the_package_makes(tvm: Any, corpus: list[tuple[str, str]]) -> None:
    """Each is read, verified, comes back from our own text, and goes back to TVM as the function that it was.

    Three ways out, each asked of TVM for each program: it cannot read back what it printed itself, as where a thread has
    lost its name; what we refuse because it means nothing, such as the quotient of two bools, it cannot compile either;
    and what we give a meaning that it has none for, such as the exponential of an integer or the sum of two bools, it
    cannot compile as it stands.
    """
    print(len(corpus), "programs")
    assert len(corpus) > 600
    refused: list[str] = []
    wrong: list[str] = []
    unreadable = idle = meant = 0
    for number, (name, text) in enumerate(corpus):
        try:
            made = parse(text)
        except DiagnosticError as problem:
            if not tvm.ask("readable", number)["readable"]:
                unreadable += 1
                continue
            if tvm.ask("buildable", number)["buildable"]:
                wrong.append(f"{name}: refused, though TVM compiles it: {problem}\n{text}")
            refused.append(f"{name}: {problem.diagnostics[0].code} {problem.diagnostics[0].message}")
            continue
        printed = made.script()
        again = parse(printed)
        if not structural_equal(made, again) or again.script() != printed:
            wrong.append(f"{name}: our own text does not come back\n{printed}")
            continue
        ours = made.script(dialect="tvm")
        reply = tvm.ask("same", number, headless(ours))
        if reply.get("equal"):
            continue
        if not tvm.ask("readable", number)["readable"]:
            unreadable += 1
        elif (
            reply.get("equal") is False
            and tvm.ask("idle", number)["idle"]  # our casts are of something else
            and structural_equal(parse(tvm.parse(ours)), made)
        ):
            idle += 1
        elif reply.get("equal") is False and not tvm.ask("buildable", number)["buildable"]:
            meant += 1
            assert structural_equal(parse(tvm.parse(ours)), made)
        else:
            wrong.append(f"{name}: {reply}\n{text}\n{ours}")
    counts = f"{len(refused)} refused, {unreadable} not read by TVM itself, {idle} with casts that do nothing, {meant} given a meaning"
    print(f"{len(corpus)} programs: {counts}, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} of {len(corpus)}:\n" + "\n\n".join(wrong[:5])
    assert len(refused) < 0.1 * len(corpus) and idle + meant < 0.02 * len(corpus), "\n".join(refused)


def runs_on_a_cpu(func: PrimFunc) -> bool:
    """Whether a function is meant for no other device, has no threads, calls nothing from outside, and takes buffers alone."""
    target = func.attrs.get("target")
    if (target is not None and target.kind not in ON_A_CPU) or len(func.param_buffers) != len(func.params):
        return False
    node: Any
    for node in walk(func):
        kind = type(node)
        if (
            kind is LaunchThread
            or kind is CallFunction
            or kind is BufferData
            or (kind is For and node.thread is not None)
        ):
            return False
        if kind is Call and (node.op.name in FOREIGN or node.op.name.startswith(("call_", "tvm_"))):
            return False
    return True


def arguments(func: PrimFunc, rng: np.random.Generator) -> list[Any]:
    """Arrays for a function; integers are 1 or 2, which index every dimension and divide everything."""
    sizes = dict.fromkeys(func.symbols, 5)
    for buffer in func.param_buffers:
        for part in (buffer.elem_offset, *(buffer.strides or ())):
            if part is not None and type(part) is not Const:
                sizes[part] = 0  # type: ignore[index]
    found = []
    for buffer in func.param_buffers:
        shape = tuple(extent(dim, sizes) for dim in buffer.shape)
        if buffer.dtype.is_float:
            found.append(rng.uniform(-2.0, 2.0, shape).astype(numpy_type(buffer.dtype)))
        else:
            found.append(
                rng.integers(1 - buffer.dtype.is_bool, 3 - buffer.dtype.is_bool, shape).astype(buffer.dtype.name)
            )
    return found


def headless(text: str) -> str:
    """A text without its import lines, which TVM's `from_source` refuses."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(("from ", "import ")))


def sent(array: Any) -> list[Any]:
    return [array.dtype.name, list(array.shape), base64.b64encode(array.tobytes()).decode()]


def received(given: list[Any]) -> Any:
    kind, shape, data = given
    return np.frombuffer(base64.b64decode(data), np.dtype(kind)).reshape(shape)


def test_results(tvm: Any, corpus: list[tuple[str, str]]) -> None:
    """TVM's programs give here what they give there."""
    candidates = []
    for number, (name, text) in enumerate(corpus):
        try:
            made = parse(text)
        except DiagnosticError:
            continue
        if isinstance(made, PrimFunc) and runs_on_a_cpu(made):
            candidates.append((number, name, made))
    step = max(1, len(candidates) // RUNS)
    rng = np.random.default_rng(0)
    wrong: list[str] = []
    ran = 0
    for number, name, made in candidates[::step]:
        given = arguments(made, rng)
        ours = [array.copy() for array in given]
        tirscript.build(made)(*ours)
        reply = tvm.ask("run", number, [sent(array) for array in given])
        if "error" in reply:
            if tvm.ask("buildable", number)["buildable"]:
                wrong.append(f"{name}: {reply['error']}")
            continue
        ran += 1
        theirs = [received(item) for item in reply["outputs"]]
        error = largest_error(ours, theirs)
        if error > 10 * tolerance(given):
            wrong.append(f"{name} differs by {error:g}\n{corpus[number][1]}")
    print(f"{ran} of {len(candidates)} programs ran, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong[:5])
    assert ran > 0.5 * min(RUNS, len(candidates))


ONE_ELEMENT = """@T.prim_func
def f(A: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32"), n: T.Buffer((1,), "int32")):
    x = T.alloc_buffer((1,), "float32", scope="local")
    x[0] = A[0]
    for i in range(n[0]):
        x[0] = x[0] + B[i]
    if x[0] > T.float32(2) and n[0] < 4:
        A[0] = T.max(x[0], T.Cast("float32", n[0]))
    B[n[0]] = T.exp(x[0])
    B[0:2] = T.Broadcast(x[0], 2)
    bits = T.decl_buffer((4,), "uint8", data=x.data, scope="local")
    bits[0] = T.uint8(1)
    same = T.decl_buffer((1,), "float32", data=x.data, scope="local")
    same[0] = x[0] * T.float32(2)
    T.evaluate(T.call_extern("int32", "g", x.data, T.address_of(A[0]), A.data))
    B[T.Ramp(1, 2, 4 * T.vscale())] = T.Broadcast(T.float32(1), 4 * T.vscale())
"""


def test_memory_of_one_element(tvm: Any) -> None:
    """TVM prints such memory by names alone, which it does not read: what we read of that is what it printed."""
    theirs = tvm.ask("parse", ONE_ELEMENT)["text"]
    assert "A = T.max(x, " in theirs and "x.source.data" in theirs
    ours = parse(theirs)
    assert structural_equal(parse(ours.script()), ours)
    assert tvm.ask("equal", ONE_ELEMENT, headless(ours.script(dialect="tvm"))) == {"equal": True}


def test_scheduled_for_a_gpu(tvm: Any, corpus: list[tuple[str, str]]) -> None:
    """What dlight makes for a GPU computes, its threads run as loops, what TVM computes of the function before.

    Threads that need what others leave in shared memory cannot run one after the other: the interpreter tells of the
    first element that is read before it is written, and such programs are left out.
    """
    numbers = {name: number for number, (name, _) in enumerate(corpus)}
    rng = np.random.default_rng(0)
    ran = together = 0
    wrong: list[str] = []
    for name, text in corpus:
        before = numbers.get(name.replace(".gpu.", "."))
        if ".gpu." not in name or name.count(".") != 2 or before is None:
            continue
        try:
            made, plain = parse(text), parse(corpus[before][1])
        except DiagnosticError:
            continue
        assert isinstance(made, PrimFunc) and isinstance(plain, PrimFunc)
        if not runs_on_a_cpu(plain) or len(made.param_buffers) != len(made.params):
            continue
        given = arguments(plain, rng)
        if sum(array.size for array in given) > 20_000 // (1 + (CASES < 1000)):
            continue
        ours = [array.copy() for array in given]
        try:
            tirscript.interpret(made, *ours, max_steps=400_000)
        except DiagnosticError:
            together += 1
            continue
        reply = tvm.ask("run", before, [sent(array) for array in given])
        if "error" in reply:
            continue
        ran += 1
        error = largest_error(ours, [received(item) for item in reply["outputs"]])
        if error > 10 * tolerance(given):
            wrong.append(f"{name} differs by {error:g}\n{text}")
    print(f"{ran} programs for a GPU ran, {together} need their threads at once, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong[:3])
    assert ran > 10


KINDS = ("bool", "int8", "int32", "int64", "uint8", "uint32", "float16", "bfloat16", "float32", "float64")
BINARY = ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", "&", "|", "^", "<<", ">>")
CALLS = ("min", "max", "truncmod", "truncdiv", "pow")
LITERALS = ("3", "200", "70000", "1.5", "300000000000")  # none that TVM folds away


def function(body: str) -> str:
    """A function over a buffer of each dtype."""
    params = ", ".join(f'{kind}: T.Buffer((4,), "{kind}")' for kind in KINDS)
    return f"@T.prim_func(s_tir=True)\ndef main({params}):\n    {body}\n"


def snippets() -> list[str]:
    """Statements with conversions that the text does not write."""
    values = [f"{kind}[1]" for kind in KINDS]
    pairs = [*product(values, values), *product(values, LITERALS), *product(LITERALS, values)]
    # of a literal beside a bitwise operator TVM keeps 32 bits
    pairs_of = {word: [p for p in pairs if LITERALS[-1] not in p] for word in ("&", "|", "^", "<<", ">>")}
    found = [f"T.evaluate({a} {word} {b})" for word in BINARY for a, b in pairs_of.get(word, pairs)]
    found += [f"T.evaluate(T.{word}({a}, {b}))" for word in CALLS for a, b in pairs]
    found += [f"T.evaluate({a} {word} True)" for word in ("+", "-", "<", "==", "&") for a in values]
    found += [f"T.evaluate(T.if_then_else(int32[0] > 0, {a}, {b}))" for a, b in pairs]
    found += [f"{place}[0] = {value}" for place in KINDS for value in (*values, *LITERALS, "T.float32(3.75)", "-1")]
    found += [f"T.evaluate(T.{kind}({value}))" for kind in KINDS for value in values]
    found += [f"T.evaluate(T.{name}({value}))" for name in ("floor", "ceil", "round", "trunc") for value in values]
    found += [
        f'T.evaluate(T.Cast("{kind}", {value}))'
        for kind in KINDS
        for value in ("0", "1", "T.float16(0)")
        if kind not in ("int32", "float16")
    ]
    found += [f"for i in range({a}, {b}):\n        T.evaluate(i)" for a, b in product(values[2:4], values[2:4])]
    return found


def test_conversions(tvm: Any) -> None:
    """Operators, stores and loops convert what TVM converts, to what it converts it."""
    refused: list[str] = []
    wrong: list[str] = []
    rng = np.random.default_rng(0)
    found = snippets()
    chosen = (
        found if len(found) <= 4 * CASES else [found[at] for at in sorted(rng.choice(len(found), 4 * CASES, False))]
    )
    texts = [function(body) for body in chosen]
    accepted = tvm.ask("accepts", texts)["accepts"]
    for body, text, theirs in zip(chosen, texts, accepted, strict=True):
        if not theirs:
            continue

        def means_something(body: str = body, text: str = text) -> bool:
            # what is thrown away compiles, whatever it is
            stored = text.replace("T.evaluate(", "bool[0] = (")
            return body not in MEANINGLESS and bool(tvm.ask("builds", stored)["buildable"])

        try:
            ours = parse(text).script(dialect="tvm")
        except DiagnosticError as problem:
            if means_something():
                refused.append(f"{body}: {problem.diagnostics[0].message}")
            continue
        if not tvm.equal(ours, text) and means_something():
            wrong.append(f"{body}: {ours.splitlines()[-1].strip()}")
    print(f"{sum(accepted)} of {len(chosen)} conversions, {len(refused)} refused, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:40])
    assert not refused, "\n".join(refused[:40])


def _divides_by_nothing(a: Any, node: Call, b: Const) -> bool:
    return node.op.name in ("div", "floordiv", "floormod", "truncdiv", "truncmod") and b.value == 0


def _shifts_out(a: Any, node: Call, b: Const) -> bool:
    return node.op.name in ("shift_left", "shift_right") and not 0 <= b.value < b.dtype.bits


def _below_zero(a: Any, node: Call, b: Const) -> bool:
    if node.dtype.element.kind != "uint":
        return False
    return (node.op.name == "negative" and b.value != 0) or (
        node.op.name == "sub" and type(a) is Const and a.value < b.value
    )


def _wraps(a: Any, node: Call, b: Const) -> bool:
    if node.op.name != "cast" or not node.dtype.element.is_int:
        return False
    low, high = node.dtype.element.int_range()
    return not low <= b.value <= high


def _is_extreme(a: Any, node: Call, b: Const) -> bool:
    return any(type(one) is Const and type(one.value) is int and abs(one.value) >= 1 << 62 for one in (a, b))


# where TVM fails as it folds operators on literals, to see how to print them or what a block reads
FOLDING = (_divides_by_nothing, _shifts_out, _below_zero)
# the same by what it says, since such literals need not be its undoing
OVERFLOWS = {
    "cannot make uint from negative value": _wraps,
    "exceeds maximum of uint": _wraps,
    "exceeds range of int": lambda *of: _wraps(*of) or _is_extreme(*of),
}


def takes_from_zero(made: PrimFunc) -> bool:
    """Whether a program takes something from an unsigned 0, which TVM refuses where it folds that to a literal."""
    return any(
        type(node) is Call
        and node.op.name == "sub"
        and node.dtype.is_int
        and not node.dtype.is_signed
        and type(node.args[0]) is Const
        and node.args[0].value == 0
        for node in walk(made)
    )


def has_operator(made: PrimFunc, *kinds: Any) -> bool:
    """Whether a program holds an operator of one of these kinds on a literal."""
    node: Any
    for node in walk(made):
        if type(node) is Call and node.args and type(node.args[-1]) is Const:
            if any(kind(node.args[0], node, node.args[-1]) for kind in kinds):
                return True
    return False


@hypothesis.settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.generate,),  # making the example small takes longer than all the rest
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(made=programs())
def test_random_programs(tvm: Any, made: PrimFunc) -> None:
    try:
        text = made.script(dialect="tvm")
    except DiagnosticError as problem:
        assert [found.code for found in problem.diagnostics] == ["T405"]
        hypothesis.reject()
    hypothesis.assume(not has_operator(made, *FOLDING))
    reply = tvm.ask("parse", headless(text))
    for message, kind in OVERFLOWS.items():
        hypothesis.assume(message not in reply.get("error", "") or not has_operator(made, kind))
    hypothesis.assume("will cause a negative uint" not in reply.get("error", "") or not takes_from_zero(made))
    assert "error" not in reply, f"{reply['error']}\n{text}"
    theirs = str(reply["text"])
    try:
        same = tvm.equal(parse(theirs).script(dialect="tvm"), text)
    except DiagnosticError:
        same = False
    if not same:
        # nor does TVM read it: parentheses that it leaves out of comparisons, memory in a region that is not declared yet
        hypothesis.assume(tvm.ask("equal", headless(text), theirs).get("equal", False))
    assert same, f"{text}\n{theirs}"


@pytest.mark.parametrize(
    "call",
    [
        "T.exp(x=A[0])", "T.abs(x=A[0])", "T.isnan(x=A[0])", "T.pow(x=A[0], y=A[1])", "T.max(a=A[0], b=A[1])", "T.min(a=A[0], b=n)",
        "T.atan2(x1=A[0], x2=A[1])", "T.copysign(x1=A[0], x2=A[1])", "T.hypot(x1=A[0], x2=A[1])", "T.nextafter(x1=A[0], x2=A[1])",
        "T.ldexp(x1=A[0], x2=n)", "T.fmod(x=A[0], y=A[1])", "T.fma(x=A[0], y=A[1], z=A[2])", "T.floordiv(a=n, b=3)",
        "T.floormod(a=n, b=3)", "T.truncdiv(a=n, b=3)", "T.truncmod(a=n, b=3)",
        "T.bitwise_and(x=n, y=3)", "T.bitwise_or(x=n, y=3)", "T.bitwise_xor(x=n, y=3)", "T.bitwise_not(x=n)", "T.shift_left(x=n, y=3)",
        "T.shift_right(x=n, y=3)", "T.clz(x=n)", "T.popcount(x=n)", "T.And(a=n > 1, b=n < 4)", "T.Or(a=n > 1, b=n < 4)",
        "T.Not(a=n > 1)", "T.LT(a=n, b=3)", "T.EQ(a=n, b=3)", "T.if_then_else(cond=n > 1, t=A[0], f=A[1])", "T.likely(cond=n > 1)",
        "T.Select(condition=n > 1, true_value=A[0], false_value=A[1])", 'T.Cast(dtype="int32", value=A[0])', 'T.cast(value=n, dtype="int64")',
        'T.reinterpret(dtype="int32", value=A[0])', "T.Add(a=n, b=1)", "T.Max(a=n, b=1)", "T.address_of(obj=A[0])", "T.isnullptr(x=A.data)",
    ],
)  # fmt: skip
def test_arguments_by_name(tvm: Any, call: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), n: T.int32):\n    T.evaluate({call})\n'
    assert structural_equal(parse("from tvm.script import tirx as T\n" + text), parse(tvm.parse(text)))
