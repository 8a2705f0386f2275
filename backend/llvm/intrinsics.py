"""Calls of LLVM's intrinsics by name.

LLVM ends the process on an intrinsic of the wrong types, or on one that the processor has no instruction for. So a call
that is not in the table of known ones is tried in a child process first, once for each name and types: there LLVM
says whether the intrinsic exists, what it takes, and whether code can be made of it.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from tirscript.backend.llvm_intrinsics import KNOWN, Intrinsic, as_operator, fitting, name_of, operands
from tirscript.backend.runtime import tiles
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Call, Const, Expr, StringImm
from tirscript.ir.span import Span

from .host import Host, host
from .types import value_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen


def call_intrinsic(g: Codegen, call: Call) -> str:
    """Call the intrinsic that the first argument names."""
    same = as_operator(call)
    if same is not None:
        return g.value(same)
    span, name = call.span or g.span, name_of(call)
    if name is None:
        raise DiagnosticError(
            [
                error(
                    "T104",
                    "an LLVM intrinsic is given by its number, which means another one in each version of LLVM",
                    span,
                    hint='write its name, as in `"llvm.fabs"`',
                )
            ]
        )
    known = KNOWN.get(name)
    if known is not None:
        return _known(g, call, name, known, span)
    return _checked(g, call, name, span)


# those of the table


def _known(g: Codegen, call: Call, name: str, known: Intrinsic, span: Span | None) -> str:
    args = fitting(known, call)
    if args is None:
        raise wrong_types(call, f"({', '.join(map(str, known.params))}) -> {known.result}")
    require_features(name, known.features, g.state.target, span)
    if known.tile:
        return _tiles(g, args, name, known)
    given = []
    for arg, want in zip(args, known.params, strict=True):
        value, have, kind = g.value(arg), value_type(arg.dtype), value_type(want)
        given.append((kind, value if have == kind else g.b.op(f"bitcast {have} {value} to {kind}")))
    result = value_type(known.result)
    return g.b.call(result, g.b.module.declare(name, result, [kind for kind, _ in given]), given)


def _tiles(g: Codegen, args: tuple[Expr, ...], name: str, known: Intrinsic) -> str:
    """A call of an intrinsic on tiles: the vectors become tiles before and a vector again behind it.

    LLVM keeps tiles in their registers where they go from one call to the next, and loads them from memory at once.
    """
    tiles.require(g.span)
    g.b.module.declare(tiles.SYMBOL, "void", [])
    begin = g.b.module.declare("llvm.x86.cast.vector.to.tile.v256i32", "x86_amx", [_WORDS])
    end = g.b.module.declare("llvm.x86.cast.tile.to.vector.v256i32", _WORDS, ["x86_amx"])
    given = [("i16", str(size)) for size in known.tile]
    for arg in args[len(known.tile) :]:
        value, have = g.value(arg), value_type(arg.dtype)
        words = value if have == _WORDS else g.b.op(f"bitcast {have} {value} to {_WORDS}")
        given.append(("x86_amx", g.b.call("x86_amx", begin, [(_WORDS, words)])))
    symbol = g.b.module.declare(name, "x86_amx", [kind for kind, _ in given])
    words, result = g.b.call(_WORDS, end, [("x86_amx", g.b.call("x86_amx", symbol, given))]), value_type(known.result)
    return words if result == _WORDS else g.b.op(f"bitcast {_WORDS} {words} to {result}")


# a tile as a vector: 16 rows of 64 bytes
_WORDS = "<256 x i32>"


def require_features(name: str, features: tuple[tuple[str, ...], ...], target: Host, span: Span | None) -> None:
    """Raise DiagnosticError unless the processor has all features of one of the groups."""
    there = set(target.features.split(","))
    if not any(all(f"+{feature}" in there for feature in group) for group in features):
        needed = " or ".join(" with ".join(group) for group in features)
        raise DiagnosticError(
            [
                error(
                    "T402",
                    f"the processor ({target.cpu}) has no instruction for `{name}`, which needs {needed}",
                    span,
                    hint="write what it computes with operators, which runs on every processor",
                )
            ]
        )


def wrong_types(call: Call, expected: str | None, more: str = "") -> DiagnosticError:
    """The mistake of a call whose types are not those of the intrinsic."""
    got = f"({', '.join(str(arg.dtype) for arg in call.args[1:])}) -> {call.dtype}"
    name = name_of(call)
    message = f"`{name}` is {expected}, not {got}" if expected else f"`{name}` is not {got}"
    return DiagnosticError([error("T204", message, call.span, notes=[more] if more else [])])


# all others


class _Operand:
    """An operand of a call as LLVM takes it: bfloat16 is its bits in this backend, and a bfloat there."""

    def __init__(self, arg: Expr, call: Call) -> None:
        self.arg = arg
        self.kind = _llvm_type(arg.dtype, call)
        # what must be an immediate can only be a constant of the program
        self.fixed = str(int(arg.value)) if type(arg) is Const and not arg.dtype.is_float else None

    def value(self, g: Codegen) -> str:
        value, have = g.value(self.arg), value_type(self.arg.dtype)
        return value if have == self.kind else g.b.op(f"bitcast {have} {value} to {self.kind}")


def _llvm_type(kind: DType, call: Call) -> str:
    if kind.kind == "float8":
        raise wrong_types(call, None, f"LLVM has no {kind.element}")
    if kind.element.name == "bfloat16":
        return vector("bfloat", kind.lanes)
    return value_type(kind)


def _checked(g: Codegen, call: Call, name: str, span: Span | None) -> str:
    result = _llvm_type(call.dtype, call)
    verdict: dict[str, Any] = {}
    for args in operands(call):
        if any(type(arg) is StringImm for arg in args):
            raise wrong_types(call, None, "an intrinsic takes no strings")
        given = [_Operand(arg, call) for arg in args]
        found = _ask(name, result, tuple((one.kind, one.fixed) for one in given), g.state.target)
        if found["verdict"] == "good":
            symbol = g.b.module.declare(found["symbol"], result, [one.kind for one in given])
            value = g.b.call(result, symbol, [(one.kind, one.value(g)) for one in given])
            have = "void" if call.dtype.kind == "void" else value_type(call.dtype)
            return value if have == result else g.b.op(f"bitcast {result} {value} to {have}")
        verdict = verdict or found
    raise _mistake(call, name, verdict, g.state.target, span)


def _mistake(call: Call, name: str, verdict: dict[str, Any], target: Host, span: Span | None) -> DiagnosticError:
    if verdict["verdict"] == "unknown":
        near = suggest(name, KNOWN)
        hint = f"did you mean `{near}`?" if near else None
        return DiagnosticError([error("T307", f"this LLVM has no intrinsic `{name}`", span, hint=hint)])
    if verdict["verdict"] == "unselectable":
        message = f"the processor ({target.cpu}) has no instruction for `{name}` of these types"
        return DiagnosticError([error("T402", message, span, notes=verdict["notes"])])
    if verdict["verdict"] == "unasked":
        message = f"`{name}` cannot be checked, since no other process of Python can be started"
        return DiagnosticError([error("T402", message, span, notes=[verdict["message"]])])
    expected = verdict.get("expected")
    note = "" if expected else verdict.get("message", "")
    return wrong_types(call, expected and _words(expected), note)


def _words(signature: list[str]) -> str:
    """A signature in the language's dtypes: the result, then the operands."""
    result, *params = map(_dtype_words, signature)
    return f"({', '.join(params)}) -> {result}"


_SCALARS = {"float": "float32", "double": "float64", "half": "float16", "bfloat": "bfloat16", "ptr": "handle"}


def _dtype_words(kind: str) -> str:
    lanes, _, scalar = kind.strip("<>").rpartition(" x ")
    word = (
        "bool" if scalar == "i1" else _SCALARS.get(scalar, scalar.replace("i", "int") if scalar[0] == "i" else scalar)
    )
    return f"{word}x{lanes}" if lanes else word


# asking LLVM


@cache
def _ask(name: str, result: str, params: tuple[tuple[str, str | None], ...], target: Host) -> dict[str, Any]:
    """What LLVM says of a call: {"verdict": "good", "symbol": ...}, or "unknown", "types" or "unselectable"."""
    import subprocess

    if not name.startswith("llvm.") or not all(char.isalnum() or char in "._" for char in name):
        return {"verdict": "unknown"}
    request = {
        "path": sys.path,
        "name": name,
        "result": result,
        "params": params,
        "target": [target.triple, target.cpu, target.features],
        "here": target == host(),
    }
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD], input=json.dumps(request), capture_output=True, text=True, check=False
        )
    except OSError as problem:  # an interpreter inside of another program has no executable
        return {"verdict": "unasked", "message": str(problem)}
    lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    last: dict[str, Any] = lines[-1] if lines else {"verdict": "types", "message": "LLVM cannot read these types"}
    if last["verdict"] == "reading":
        return {"verdict": "types", "message": "LLVM cannot convert a call of these types to what the intrinsic is now"}
    if last["verdict"] == "selecting":
        said = [line for line in child.stderr.splitlines() if "LLVM ERROR" in line]
        return {"verdict": "unselectable", "notes": said[:1]}
    if last["verdict"] == "unlinkable":
        note = f"LLVM calls `{last['symbol']}` for it, which a compiler's library has and this process does not"
        return {"verdict": "unselectable", "notes": [note]}
    return last


_CHILD = r"""
import json, re, sys
request = json.load(sys.stdin)
sys.path[:] = request["path"]
import llvmlite.binding as llvm
llvm.initialize_native_target(); llvm.initialize_native_asmprinter()
name, result, params = request["name"], request["result"], request["params"]

def say(**what):
    print(json.dumps(what), flush=True)

def text(result, kinds, fixed, declared):
    heads = [f"{kind} %a{k}" for k, kind in enumerate(kinds)]
    values = [fixed[k] if k < len(fixed) and fixed[k] is not None else f"%a{k}" for k in range(len(kinds))]
    given = [f"{kind} {value}" for kind, value in zip(kinds, values)]
    made = f"declare {result} @{name}({', '.join(kinds)})\n" if declared else ""
    made += f"define {result} @probe({', '.join(heads)}) {{\n"
    call = f"call {result} @{name}({', '.join(given)})"
    return made + (f"{call}\nret void\n}}" if result == "void" else f"%r = {call}\nret {result} %r\n}}")

def problem(result, kinds, fixed, declared):
    try:
        module = llvm.parse_assembly(text(result, kinds, fixed, declared))
        module.verify()
    except RuntimeError as wrong:
        return str(wrong), None
    return None, module

SCALARS = ["i1", "i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", "ptr"]
CANDIDATES = SCALARS + [f"<{n} x {kind}>" for n in (2, 4, 8, 16, 32, 64) for kind in SCALARS[:-1]]

def expected(kinds):
    '''The signature nearest to what was given: of a wrong type LLVM says at which place it stands.'''
    gives = lambda r: "return type" not in (problem(r, [], [], True)[0] or "")
    first = next(filter(gives, [result, *kinds, "void", *CANDIDATES]), None)
    if first is None:
        return None
    found = []
    for place in range(24):
        said = problem(first, found, [], True)[0]
        if said is None or "immarg" in said:
            return [first, *found]
        given = kinds[place : place + 1]
        fits = lambda k: "argument type" not in (problem(first, [*found, k], [], True)[0] or "")
        right = [kind for kind in [*given, *CANDIDATES] if fits(kind)]
        if not right:
            return None
        found.append(right[0])
    return None

kinds, fixed = [kind for kind, _ in params], [value for _, value in params]
say(verdict="reading")
said, module = problem(result, kinds, fixed, False)
if said is not None:
    if "unknown intrinsic" in said:
        say(verdict="unknown")
    elif "immediate" in said:
        say(verdict="types", message="an operand must be a constant: " + said.splitlines()[0])
    else:
        message = next((line for line in said.splitlines() if "error:" in line or "ntrinsic" in line), said)
        say(verdict="types", message=message.partition("error: ")[2] or message)
        found = expected(kinds)
        if found is not None and found != [result, *kinds]:
            say(verdict="types", expected=found)
else:
    symbol = next(f.name for f in module.functions if f.is_declaration)
    say(verdict="selecting")
    triple, cpu, features = request["target"]
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
    # conversions of bfloat, say, are functions of a compiler's library where the processor has none
    code = machine.emit_assembly(module)
    called = re.findall(r"[\s$](__[a-z]\w+)", code) if request["here"] else []
    missing = next((name for name in called if llvm.address_of_symbol(name) is None), None)
    if missing is None:
        say(verdict="good", symbol=symbol)
    else:
        say(verdict="unlinkable", symbol=missing)
"""
