"""The verifier on nodes built by hand: what passes could get wrong and the parser never writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers.nodes import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    VOID,
    ZERO,
    A,
    B,
    N,
    axis,
    block,
    call,
    func,
    h,
    load,
    local,
    loop,
    m,
    n,
    scalar,
    store,
    x,
)

from tirscript.ir import (
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Attrs,
    Axis,
    Bind,
    Break,
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    CallFunction,
    Const,
    Continue,
    DeclBuffer,
    DiagnosticError,
    Evaluate,
    For,
    If,
    Let,
    MatchBuffer,
    Module,
    PrimFunc,
    Ramp,
    Range,
    Return,
    ScalarDecl,
    StaticAssert,
    StringImm,
    Var,
    While,
    check_well_formed,
    const,
    dtype,
    verify,
)

i, j, y = Var(name="i"), Var(name="j"), Var(name="y", dtype=F32)
s, t, L = scalar(), scalar("t"), local()
inner = Let(var=i, value=const(1), body=i + 1)
odd = Var(name="k", dtype=F32)
vec = Ramp(base=const(0), stride=const(1), lanes=4)

WRONG: dict[str, tuple[Callable[[], Any], str, str]] = {
    # scopes
    "free variable": (lambda: func(store(ZERO, i)), "T206", "nothing defines the variable `i`"),
    "free buffer": (lambda: func(store(buffer=L)), "T201", "nothing defines the buffer `L`"),
    "loop variable after its loop": (
        lambda: func(loop(i, store(ZERO, i)), store(ZERO, i)),
        "T201",
        "`i` is used outside of its scope",
    ),
    "binding of another branch": (
        lambda: func(If(condition=n < 1, then=(Bind(var=y, value=x),), orelse=(store(y),))),
        "T201",
        "`y` is used outside of its scope",
    ),
    "buffer of another body": (
        lambda: func(block(AllocBuffer(buffer=L), store(buffer=L)), store(buffer=L)),
        "T201",
        "the buffer `L` is used outside",
    ),
    "scalar after its loop": (
        lambda: func(loop(i, ScalarDecl(buffer=s, value=x)), store(load(buffer=s))),
        "T201",
        "the buffer `s` is used outside of its scope",
    ),
    "a binding in its own value": (
        lambda: func(Bind(var=y, value=y + 1.0)),
        "T201",
        "`y` is used outside of its scope",
    ),
    "let after its end": (lambda: func(store(ZERO, inner), store(ZERO, i)), "T201", "`i` is used outside of its scope"),
    "axis after its block": (
        lambda: func(loop(j, block(store(ZERO, i), axes=(axis(i, j),))), store(ZERO, i)),
        "T201",
        "`i` is used outside of its scope",
    ),
    "match of a free buffer": (
        lambda: func(
            MatchBuffer(
                buffer=t.replace(scope="global"), source=BufferRegion(buffer=L, ranges=(Range(start=const(0)),))
            )
        ),
        "T201",
        "nothing defines the buffer `L`",
    ),
    "data of a free buffer": (
        lambda: func(Evaluate(value=BufferData(buffer=L))),
        "T201",
        "nothing defines the buffer `L`",
    ),
    "variable in an attribute": (lambda: func(loop(i, store(ZERO, i), annotations=Attrs({"a": [j]}))), "T206", "`j`"),
    "variable in a shape": (lambda: func(AllocBuffer(buffer=Buffer(name="V", shape=(i,)))), "T206", "`i`"),
    # double definitions
    "two loops over one variable": (
        lambda: func(loop(i, store()), loop(i, store())),
        "T202",
        "the variable `i` is defined twice",
    ),
    "allocated twice": (
        lambda: func(AllocBuffer(buffer=L), AllocBuffer(buffer=L)),
        "T202",
        "the buffer `L` is defined twice",
    ),
    "bound twice": (
        lambda: func(Bind(var=y, value=x), Bind(var=y, value=x)),
        "T202",
        "the variable `y` is defined twice",
    ),
    "parameter twice": (lambda: func(params=(n, n)), "T202", "the function `f` has the parameter `n` twice"),
    "parameter as a loop variable": (lambda: func(loop(n, store())), "T202", "the variable `n` is defined twice"),
    "handle matched twice": (
        lambda: func(MatchBuffer(buffer=L, source=h), MatchBuffer(buffer=local("K"), source=h)),
        "T202",
        "the parameter `h` is matched to two buffers",
    ),
    # dtypes
    "a power that is no integer": (
        lambda: func(store(call("ldexp", x, x, dtype=F32))),
        "T105",
        "the last argument of `T.ldexp` is an integer, not float32",
    ),
    "arity": (lambda: func(store(call("exp", x, x, dtype=F32))), "T101", "`T.exp` takes 1 argument, not 2"),
    "arity, at least": (
        lambda: func(Evaluate(value=call("call_extern"))),
        "T101",
        "`T.call_extern` takes at least 1 argument, not 0",
    ),
    "operands differ": (
        lambda: func(store(call("add", x, n, dtype=F32))),
        "T204",
        "the operands of `+` are float32 and int32",
    ),
    "operand kind": (
        lambda: func(store(call("exp", n, dtype=I32), buffer=N)),
        "T105",
        "`T.exp` takes floats, not int32",
    ),
    "result": (
        lambda: func(store(call("add", x, x, dtype=F64))),
        "T204",
        "`+` of float32 is float32, but the call is of dtype float64",
    ),
    "result of a comparison": (lambda: func(store(call("less", x, x, dtype=F32))), "T204", "`<` of float32 is bool"),
    "vector comparison": (
        lambda: func(Evaluate(value=call("less", vec, vec, dtype=BOOL))),
        "T204",
        "`<` of int32x4 is boolx4, but the call is of dtype bool",
    ),
    "condition of a select": (
        lambda: func(store(call("Select", n, x, x, dtype=F32))),
        "T102",
        "the condition of `T.Select` is int32, not bool",
    ),
    "cast of a handle": (
        lambda: func(Evaluate(value=call("cast", h, dtype=I64))),
        "T108",
        "cannot cast handle to int64",
    ),
    "cast of lanes": (
        lambda: func(Evaluate(value=call("cast", vec, dtype=I64))),
        "T106",
        "the numbers of lanes differ",
    ),
    "reinterpret": (lambda: func(Evaluate(value=call("reinterpret", x, dtype=I64))), "T108", "the sizes differ"),
    "address of a value": (
        lambda: func(Evaluate(value=call("address_of", x, dtype=dtype("handle")))),
        "T104",
        "`T.address_of` takes an element",
    ),
    "store": (lambda: func(store(n)), "T204", "the value stored into `A` is int32, but its place holds float32"),
    "vector store of a scalar": (lambda: func(store(x, vec)), "T204", "is float32, but its place holds float32x4"),
    "binding": (lambda: func(Bind(var=y, value=n)), "T204", "the value of `y` is int32, but its place holds float32"),
    "scalar": (lambda: func(ScalarDecl(buffer=s, value=n)), "T204", "the value of `s` is int32"),
    "let": (lambda: func(store(ZERO, Let(var=i, value=x, body=i))), "T204", "the value of `i` is float32"),
    "if": (lambda: func(If(condition=n, then=(store(),))), "T102", "the condition of `if` is int32, not bool"),
    "while": (lambda: func(While(condition=n, body=(store(),))), "T102", "the condition of `while` is int32, not bool"),
    "assert": (lambda: func(Assert(condition=n)), "T102", "`assert` is int32"),
    "static_assert": (lambda: func(StaticAssert(condition=n)), "T102", "`T.static_assert` is int32"),
    "assume": (lambda: func(Assume(condition=n)), "T102", "`T.assume` is int32"),
    "where": (lambda: func(block(store(), predicate=n)), "T102", "`T.where` is int32"),
    "predicate": (lambda: func(store(predicate=n)), "T102", "the predicate is int32, not bool"),
    "loop bounds": (
        lambda: func(loop(i, store(), stop=m)),
        "T204",
        "the stop of the loop is int64, but its variable `i` is int32",
    ),
    "loop step": (lambda: func(loop(i, store(), step=m)), "T204", "the step of the loop is int64"),
    "loop variable": (
        lambda: func(For(var=odd, start=x, stop=x, body=())),
        "T204",
        "the loop variable `k` is float32, not an integer",
    ),
    "axis": (
        lambda: func(loop(j, block(store(), axes=(axis(Var(name="v", dtype=I64), j),)))),
        "T204",
        "the value of the axis `v` is int32, but the axis is int64",
    ),
    "axis variable": (
        lambda: func(block(axes=(Axis(var=odd, kind="spatial", start=x, stop=x, value=x),))),
        "T204",
        "the axis `k` is float32, not an integer",
    ),
    "ramp": (
        lambda: func(Evaluate(value=Ramp(base=n, stride=m, lanes=4))),
        "T204",
        "the base of a ramp is int32 and its stride int64",
    ),
    "broadcast": (
        lambda: func(Evaluate(value=Broadcast(value=vec, lanes=4))),
        "T204",
        "a broadcast takes a scalar, not int32x4",
    ),
    "lanes of a ramp": (lambda: func(Evaluate(value=Ramp(base=n, stride=n, lanes=0))), "T210", "a ramp has 0 lanes"),
    "lanes of a broadcast": (
        lambda: func(Evaluate(value=Broadcast(value=n, lanes=0))),
        "T210",
        "a broadcast has 0 lanes",
    ),
    "return": (
        lambda: func(Return(value=x), returns=I32),
        "T204",
        "the value returned is float32, but its place holds int32",
    ),
    "return without annotation": (
        lambda: func(Return(value=x)),
        "T204",
        "`f` returns nothing, but this `return` has a value of dtype float32",
    ),
    "data of a view": (
        lambda: func(DeclBuffer(buffer=L, data=n)),
        "T204",
        "the data of the buffer `L` is int32, not a handle",
    ),
    "matched scalar": (lambda: func(MatchBuffer(buffer=L, source=n)), "T204", "of dtype int32, which is no handle"),
    "void elements": (
        lambda: func(AllocBuffer(buffer=local(dtype=dtype("void")))),
        "T204",
        "has elements of dtype void",
    ),
    # indices
    "too few indices": (lambda: func(store(ZERO, n, buffer=B)), "T111", "`B` has 2 dimensions, but 1 index is given"),
    "too many indices": (lambda: func(store(load(n, n))), "T111", "`A` has 1 dimension, but 2 indices are given"),
    "no indices": (
        lambda: func(BufferStore(buffer=A, indices=(), value=ZERO)),
        "T111",
        "`A` has 1 dimension, but 0 indices are given",
    ),
    "float index": (lambda: func(store(ZERO, x)), "T112", "an index of `A` is float32, not an integer"),
    "bool index": (lambda: func(store(ZERO, n < 1)), "T112", "an index of `A` is bool, not an integer"),
    "vector before the last": (
        lambda: func(Evaluate(value=load(vec, n, buffer=B))),
        "T112",
        "only the last index of `B` may be a vector",
    ),
    "undef index": (lambda: func(store(ZERO, call("undef") + n)), "T112", "an index of `A` is undefined"),
    "undef in a ramp": (
        lambda: func(Evaluate(value=load(Ramp(base=call("undef"), stride=const(1), lanes=4)))),
        "T112",
        "is undefined",
    ),
    "too large": (
        lambda: func(store(ZERO, const(16))),
        "T113",
        "index 16 is outside of dimension 0 of `A`, which has 16 elements",
    ),
    "negative": (
        lambda: func(store(load(const(0), const(-1), buffer=B))),
        "T113",
        "index -1 is outside of dimension 1 of `B`",
    ),
    "end of a ramp": (
        lambda: func(Evaluate(value=load(Ramp(base=const(13), stride=const(1), lanes=4)))),
        "T113",
        "index 16 is outside",
    ),
    "start of a ramp": (
        lambda: func(Evaluate(value=load(Ramp(base=const(2), stride=const(-1), lanes=4)))),
        "T113",
        "index -1 is outside",
    ),
    "region rank": (
        lambda: func(block(store(), reads=(BufferRegion(buffer=B, ranges=(Range(start=n),)),))),
        "T111",
        "`B` has 2 dimensions, but 1 range is given",
    ),
    "region end": (
        lambda: func(block(store(), reads=(BufferRegion(buffer=A, ranges=(Range(start=n, stop=x),)),))),
        "T112",
        "an end of a range is float32, not an integer",
    ),
    "region end of lanes": (
        lambda: func(block(store(), reads=(BufferRegion(buffer=A, ranges=(Range(start=vec),)),))),
        "T112",
        "an end of a range is int32x4, not an integer",
    ),
    "predicate of one lane": (
        lambda: func(Evaluate(value=BufferLoad(buffer=A, indices=(vec,), predicate=const(True)))),
        "T102",
        "the predicate is bool, not boolx4",
    ),
    "condition of more lanes than values": (
        lambda: func(Evaluate(value=call("Select", vec > const(1), const(1), const(2), dtype=const(1).dtype))),
        "T106",
        "`T.Select` of boolx4 and int32: the numbers of lanes differ",
    ),
    # shapes
    "negative dimension": (
        lambda: func(AllocBuffer(buffer=local("K", -4))),
        "T207",
        "a dimension of the buffer `K` is -4",
    ),
    "float dimension": (
        lambda: func(AllocBuffer(buffer=Buffer(name="K", shape=(x,)))),
        "T207",
        "a dimension of the buffer `K` is float32, not an integer",
    ),
    "strides": (
        lambda: func(AllocBuffer(buffer=local(strides=(const(1), const(1))))),
        "T207",
        "has 1 dimension and 2 strides",
    ),
    "float stride": (
        lambda: func(AllocBuffer(buffer=local(strides=(x,)))),
        "T207",
        "a stride of the buffer `L` is float32",
    ),
    "float offset": (
        lambda: func(AllocBuffer(buffer=local(elem_offset=x))),
        "T207",
        "the element offset of the buffer `L` is float32",
    ),
    "alignment": (
        lambda: func(AllocBuffer(buffer=local(align=-4))),
        "T207",
        "alignment or offset factor of the buffer `L` is negative",
    ),
    "separators": (
        lambda: func(AllocBuffer(buffer=local(axis_separators=(1,)))),
        "T207",
        "axis separators of the buffer `L` are [1]",
    ),
    "unbound symbol": (
        lambda: func(params=(Buffer(name="K", shape=(Var(name="q", dtype=I64) * 2,)),)),
        "T206",
        "the symbolic dimension `q` is bound nowhere",
    ),
    # storage
    "unknown scope": (lambda: func(AllocBuffer(buffer=local(scope="locl"))), "T205", 'is in the unknown scope "locl"'),
    "scalar with a shape": (
        lambda: func(ScalarDecl(buffer=local("K", 4, scope="scalar"), value=x)),
        "T205",
        "is not a scalar variable",
    ),
    "allocated scalar": (lambda: func(AllocBuffer(buffer=s)), "T205", "is not a scalar variable"),
    "scalar in another scope": (
        lambda: func(ScalarDecl(buffer=s.replace(scope="local"), value=x)),
        "T205",
        'is in scope "local"',
    ),
    # statements
    "break": (lambda: func(Break()), "T022", "`break` outside of a loop"),
    "continue": (lambda: func(If(condition=n < 1, then=(Continue(),))), "T022", "`continue` outside of a loop"),
    "loop kind": (lambda: func(loop(i, store(), kind="paralell")), "T210", "no loop is of kind 'paralell'"),
    "thread": (lambda: func(loop(i, store(), thread="threadIdx.x")), "T210", "a thread is given exactly where"),
    "no thread": (lambda: func(loop(i, store(), kind="thread_binding")), "T210", "a thread is given exactly where"),
    "step": (lambda: func(loop(i, store(), step=const(0))), "T304", "the step of a loop is 0"),
    "axis kind": (
        lambda: func(loop(j, block(store(), axes=(axis(i, j, kind="spatail"),)))),
        "T203",
        "no axis is of kind 'spatail'",
    ),
    "matched variable": (
        lambda: func(Bind(var=i, value=n), MatchBuffer(buffer=L, source=i)),
        "T210",
        "`L` is matched to `i`, which is no parameter",
    ),
    "nested match": (
        lambda: func(block(MatchBuffer(buffer=L, source=h))),
        "T210",
        "matches a parameter inside of a nested body",
    ),
    # constants and attributes
    "constant range": (
        lambda: func(store(Const(value=300, dtype=dtype("int8")), buffer=N)),
        "T210",
        "the constant 300 does not fit int8",
    ),
    "constant rounding": (
        lambda: func(store(Const(value=0.1, dtype=F32))),
        "T210",
        "the constant 0.1 is not a value of float32",
    ),
    "constant type": (
        lambda: func(store(Const(value=1, dtype=F32))),
        "T210",
        "a constant of float32 holds the Python int 1",
    ),
    "integer constant": (
        lambda: func(store(Const(value=1.0, dtype=I32), buffer=N)),
        "T210",
        "holds the Python float 1.0",
    ),
    "vector constant": (
        lambda: func(Evaluate(value=Const(value=1, dtype=dtype("int32x4")))),
        "T210",
        "int32x4 has no scalar constants",
    ),
    "attribute": (
        lambda: func(attrs=Attrs({"a": [{"b": object()}]})),
        "T210",
        "attribute `a` of the function: a Python object cannot be written as text",
    ),
    "attribute key": (lambda: func(attrs=Attrs({"a": {1: 2}})), "T210", "the key 1 is no string"),
    "attribute of a block": (
        lambda: func(block(store(), annotations=Attrs({"a": {1, 2}}))),
        "T210",
        "attribute `a` of the block",
    ),
    "attribute of a buffer": (
        lambda: func(AllocBuffer(buffer=L, annotations=Attrs({"a": {1, 2}}))),
        "T210",
        "attribute `a` of the buffer",
    ),
    "attribute statement with a bare number": (
        lambda: func(Attr(target=ZERO, key="k", value=2, body=(store(),))),
        "T210",
        "the attribute `k` holds the bare number 2",
    ),
    "attribute statement on a bare number": (
        lambda: func(Attr(target=0.5, key="k", value="x", body=(store(),))),
        "T210",
        "the attribute `k` holds the bare number 0.5",
    ),
    "attribute statement": (
        lambda: func(Attr(target=A, key="a", value=object(), body=())),
        "T210",
        "the attribute `a`: a Python object",
    ),
}


def codes(x: Any) -> list[str]:
    return [each.code for each in verify(x)]


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    make, code, message = WRONG[name]
    found = verify(make())
    assert code in [each.code for each in found], [str(each) for each in found]
    assert message in next(each for each in found if each.code == code).message
    if name not in CASCADES:
        assert [each.code for each in found] == [code], [str(each) for each in found]


# a second thing is wrong as well, or follows from the first
CASCADES = {
    "integer constant",
    "constant range",
    "bound twice",
    "vector comparison",
    "result of a comparison",
    "operand kind",
    "result",
    "axis variable",
    "constant type",
}


def test_right() -> None:
    view = local("V", 4)
    k = Var(name="k", dtype=I32)
    matched = Buffer(name="R", shape=(const(4),), strides=(k,))
    whole = func(
        MatchBuffer(buffer=L, source=h),
        DeclBuffer(buffer=view, data=L.data),
        Attr(target=Var(name="tx", dtype=I32), key="thread_extent", value=const(4), body=(store(buffer=view),)),
        Attr(target=A, key="pragma", value="x", body=(store(),)),
        ScalarDecl(buffer=s, value=x),
        BufferStore(buffer=s, indices=(), value=BufferLoad(buffer=s, indices=())),
        Bind(var=y, value=x + 1.0),
        store(y, Let(var=i, value=n, body=i + 1)),
        store(Broadcast(value=x, lanes=4), vec),
        store(
            Broadcast(value=x, lanes=4),
            Ramp(base=const(14), stride=const(1), lanes=4),
            predicate=Broadcast(value=n < 1, lanes=4),
        ),
        Evaluate(value=call("print", StringImm(value="x"), x, dtype=dtype("void"))),
        While(condition=n < 1, body=(Break(),)),
        loop(j, Continue(), store(), step=const(2), kind="serial"),
        block(
            MatchBuffer(buffer=matched, source=BufferRegion(buffer=A, ranges=(Range(start=const(0), stop=const(4)),))),
            store(buffer=matched),
            store(ZERO, k),
            writes=(BufferRegion(buffer=A, ranges=(Range(start=const(0), stop=const(4)),)),),
        ),
        Assert(condition=n > 0, message="m"),
        attrs=Attrs({"a": [1, 2.0, "x", None, True, {"b": (n, F32)}]}),
    )
    assert [str(each) for each in verify(whole)] == []
    check_well_formed(whole)


def test_what_a_class_without_a_rule_defines_is_in_scope() -> None:
    class Scoped(For, frozen=True, eq=False):
        pass

    var = Var(name="z")
    assert codes(func(Scoped(var=var, start=const(0), stop=const(4), body=(store(ZERO, var),)), store())) == []
    assert codes(func(Scoped(var=var, start=const(0), stop=const(4), body=(store(ZERO, Var(name="w")),)))) == ["T206"]


def test_modules() -> None:
    def g(name: str, *body: Any, extra: Any = (), **fields: Any) -> PrimFunc:
        return PrimFunc(name=name, params=(n, A, h, *extra), body=body, **fields)

    def calling(function: str, *args: Any, kind: Any = VOID) -> Module:
        call = CallFunction(function=function, args=args, dtype=kind)
        return Module(
            functions=(g("main", Evaluate(value=call), extra=(B, x)), g("callee", Return(value=n), returns=I32))
        )

    assert codes(Module(functions=(g("a"), g("b")))) == []
    assert codes(Module(functions=(g("a"), g("a")))) == ["T202"]
    assert codes(Module(functions=(), attrs=Attrs({"a": object()}))) == ["T210"]
    assert codes(calling("callee", n, A, h, kind=I32)) == []
    region = BufferRegion(buffer=B, ranges=(Range(start=const(0)), Range(start=const(0), stop=const(4))))
    assert codes(calling("callee", n, A.data, B, kind=I32)) == []
    assert codes(calling("callee", n, region, h, kind=I32)) == []
    for args, kind, code in [
        ((n, A), I32, "T101"),
        ((x, A, h), I32, "T204"),
        ((A, A, h), I32, "T204"),
        ((n, n, h), I32, "T204"),
        ((n, A, n), I32, "T204"),
        ((n, A, h), F32, "T204"),
    ]:
        assert codes(calling("callee", *args, kind=kind)) == [code]
    (each,) = verify(calling("calle", n, A, h))
    assert (each.code, each.hint) == ("T307", "did you mean `callee`?")
    with pytest.raises(DiagnosticError):
        check_well_formed(calling("nothing"))
