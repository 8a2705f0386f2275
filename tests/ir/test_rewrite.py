"""Walking, rewriting, substituting: what changes, what stays the same object."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from typing import Any

import pytest

from tests.helpers.script import function
from tirscript.ir import (
    AllocBuffer,
    Attr,
    Attrs,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Evaluate,
    For,
    If,
    Let,
    PrimFunc,
    Var,
    children,
    const,
    definitions,
    dtype,
    free_buffers,
    free_vars,
    get_op,
    map_children,
    refresh,
    rewrite,
    structural_equal,
    substitute,
    walk,
)
from tirscript.ir.rewrite import uses, walks_kept


def program() -> PrimFunc:
    return function(
        'x = T.alloc_buffer((n, 4), "float32")\nfor i in range(4):\n    x[i, 0] = A[i]\n    A[i] = x[i, 0] + 1.0\nif n > 0:\n    A[0] = 2.0\nelse:\n    A[1] = 3.0'
    )


def fold(node: Call) -> Any:
    if node.op is get_op("add") and all(type(arg) is Const for arg in node.args):
        return const(sum(arg.value for arg in node.args), node.dtype)  # type: ignore[attr-defined]
    return node


def test_unchanged_is_identical() -> None:
    f = program()
    assert rewrite(f, {}) is f
    assert rewrite(f, {Call: lambda node: node, Var: lambda node: node}) is f
    assert rewrite(f.body, {Call: fold}) is f.body
    assert map_children(f, lambda node: node) is f
    assert substitute(f, {}) is f
    assert substitute(f, {Var(name="q"): const(1)}) is f


def test_only_the_path_to_a_change_is_rebuilt() -> None:
    f = program()
    g = rewrite(f, {Const: lambda node: const(9.0) if node.value == 3.0 else node})
    assert g is not f
    assert g.body[0] is f.body[0]
    assert g.body[1] is f.body[1]
    assert g.body[2] is not f.body[2]
    assert g.body[2].then is f.body[2].then
    assert g.body[2].orelse[0].value.value == 9.0
    assert g.body[2].span is f.body[2].span
    assert g.span is f.span


def test_bottom_up() -> None:
    a = const(1) + Var(name="x")
    one, two, three = const(1), const(2), const(3)
    add = get_op("add")
    inner = Call(op=add, args=(one, two), dtype=dtype("int32"))
    outer = Call(op=add, args=(inner, three), dtype=dtype("int32"))
    assert rewrite(outer, {Call: fold}) == const(6)
    assert rewrite(a, {Call: fold}) is a


def test_splice_and_delete() -> None:
    f = program()
    doubled = rewrite(f, {BufferStore: lambda node: (node, node)})
    assert len(doubled.body[1].body) == 4
    assert len(doubled.body[2].then) == 2
    emptied = rewrite(f, {BufferStore: lambda node: ()})
    assert emptied.body[1].body == ()
    assert rewrite(f.body, {If: lambda node: ()}) == f.body[:2]
    assert rewrite(f.body, {If: lambda node: node.then}) == (*f.body[:2], *f.body[2].then)  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["Const", int])
def test_a_rule_for_what_is_no_class_of_nodes(key: Any) -> None:
    with pytest.raises(TypeError, match="rules are by classes of nodes"):
        rewrite(Const(1, dtype("int32")), {key: lambda node: node})


def test_a_rule_without_a_result() -> None:
    with pytest.raises(TypeError, match="the rule for For returned None"):
        rewrite(program(), {For: lambda node: None})


def test_buffers_of_symbolic_shape_are_rebuilt_once() -> None:
    f = function("A[0, 0] = A[1, 1] + 1.0\nA[2, 2] = 1.0", 'A: T.Buffer(("n", "n"), "float32")')
    (n,) = f.symbols
    g = substitute(f, {n: const(8, n.dtype)})
    buffers = {node for node in walk(g) if type(node) is Buffer}
    assert len(buffers) == 1
    assert buffers == {g.params[0]}
    assert g.params[0].constant_shape() == (8, 8)
    assert f.params[0].constant_shape() is None


def test_substitute_takes_what_is_asked_for() -> None:
    """A buffer that is replaced is not rebuilt first, and a replacement is not replaced again."""
    n, m = Var(name="n"), Var(name="m")
    a, b = Buffer(name="A", shape=(n,)), Buffer(name="B", shape=(const(4),))
    load = BufferLoad(buffer=a, indices=(n,))
    new = substitute(load, {n: m, a: b, m: const(1)})
    assert new.buffer is b
    assert new.indices == (m,)


def test_substitute_reaches_attributes() -> None:
    x = Var(name="x")
    node = Attr(target=x, key="k", value=[{"a": (x, 1)}, x + 1], body=(Evaluate(value=x),))
    new = substitute(node, {x: const(5)})
    assert new.target == const(5)
    assert new.value[0] == {"a": (const(5), 1)}
    assert new.value[1].args[0] == const(5)
    block = Block(name="b", axes=(), body=(), annotations=Attrs({"a": x}))
    new = substitute(block, {x: const(5)})
    assert type(new.annotations) is Attrs
    assert new.annotations["a"] == const(5)
    assert substitute(block, {Var(name="y"): const(1)}).annotations is block.annotations


def test_a_rule_for_buffers_stands_everywhere() -> None:
    f = program()
    seen: list[str] = []

    def local(buffer: Buffer) -> Buffer:
        seen.append(buffer.name)
        return buffer.replace(scope="local") if buffer.name == "x" else buffer

    g = rewrite(f, {Buffer: local})
    assert sorted(seen) == sorted(set(seen))
    found = {node for node in walk(g.body) if type(node) is Buffer and node.name == "x"}
    assert len(found) == 1
    assert found.pop().scope == "local"


def test_walk() -> None:
    f = program()
    kinds = [type(node).__name__ for node in walk(f.body)]
    assert kinds[:4] == ["AllocBuffer", "Buffer", "Var", "Const"]
    assert kinds.count("If") == 1
    assert [node.value for node in walk(f.body[2]) if type(node) is Const] == [
        0,
        16,
        0,
        2.0,
        1,
        3.0,
    ]  # 16 of the shape of A, once
    assert next(iter(walk(f))) is f
    x = f.body[0].buffer
    assert [type(child) for child in children(f.body[0])] == [Buffer]
    assert list(children(x)) == list(x.shape)
    assert uses(f, x)
    assert not uses(f.body[2], x)


def test_definitions_and_free_names() -> None:
    f = program()
    assert [binder.name for binder in definitions(f)] == ["A", "B", "X", "n", "x", "i"]
    assert free_vars(f) == []
    assert free_buffers(f) == []
    assert [var.name for var in free_vars(f.body)] == ["n"]
    assert [buffer.name for buffer in free_buffers(f.body)] == ["A"]
    symbolic = function("A[0] = 1.0", 'A: T.Buffer(("n",), "float32")')
    assert [binder.name for binder in definitions(symbolic)] == ["A", "n"]


def test_refresh() -> None:
    for f in (program(), function("A[n] = 1.0", 'A: T.Buffer(("n",), "float32")')):
        g = refresh(f)
        assert structural_equal(f, g)
        assert not {id(binder) for binder in definitions(f)} & {id(binder) for binder in definitions(g)}
        assert [binder.name for binder in definitions(f)] == [binder.name for binder in definitions(g)]
    x = Var(name="x")
    let = Let(var=x, value=const(1), body=x + Var(name="free"))
    new = refresh(let)
    assert new.var is not x
    assert new.body.args[0] is new.var
    assert new.body.args[1] is let.body.args[1]


def test_deep() -> None:
    value: Any = Var(name="x")
    for _ in range(5_000):
        value = value + 1
    assert rewrite(value, {}) is value
    changed = rewrite(value, {Const: lambda node: const(2)})
    assert sum(1 for node in walk(changed) if type(node) is Const and node.value == 2) == 5_000
    body: Any = Evaluate(value=const(1))
    for _ in range(3_000):
        body = For(var=Var(name="i"), start=const(0), stop=const(2), body=(body,))
    assert structural_equal(refresh(body), body)


def test_a_class_with_new_fields_needs_no_code() -> None:
    class Pair(Evaluate, frozen=True, eq=False):
        more: tuple[Var | Const, ...] | None = None

    x = Var(name="x")
    node = Pair(value=x, more=(x, const(1)))
    assert [type(child) for child in children(node)] == [Var, Var, Const]
    assert substitute(node, {x: const(3)}).more == (const(3), const(1))
    assert structural_equal(node, Pair(value=x, more=(x, const(1))))
    assert not structural_equal(node, Pair(value=x))
    assert isinstance(program().body[0], AllocBuffer)


def _sums(count: int) -> PrimFunc:
    lines = [f"    A[i] = A[i] + {at}.0 * A[i]" for at in range(count)]
    return function("\n".join(["for i in range(8):", *lines]))


def test_walks_that_are_kept_are_the_same() -> None:
    func = _sums(3)
    plain = list(walk(func)), list(walk(func.body))
    with walks_kept():
        for _ in range(3):  # made, then kept
            assert all(a is b for a, b in zip(walk(func), plain[0], strict=True))
            assert all(a is b for a, b in zip(walk(func.body), plain[1], strict=True))


def test_a_walk_that_ended_early_is_not_kept() -> None:
    func = _sums(3)
    whole = list(walk(func))
    with walks_kept():
        assert next(iter(walk(func))) is func
        for node in walk(func):
            if type(node) is BufferStore:
                break
        assert all(a is b for a, b in zip(walk(func), whole, strict=True))


def test_walks_are_kept_for_one_program_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tirscript.ir.rewrite"], "MOST", 50)  # all are forgotten again and again
    with walks_kept():
        for count in range(1, 12):  # the programs before are gone, and their ids free
            stores = [node for node in walk(_sums(count)) if type(node) is BufferStore]
            assert len(stores) == count
            assert len(list(walk(tuple(stores)))) > count


def test_programs_are_free_again_when_walks_are_kept_no_more() -> None:
    func = _sums(3)
    dead = weakref.ref(func)
    with walks_kept():
        with walks_kept():
            assert list(walk(func))
        kept = walk(func)
        assert type(kept) is type(iter([]))  # the inner one ended nothing
    del func, kept
    gc.collect()
    assert dead() is None


def test_a_kept_walk_of_another_thread_is_its_own() -> None:
    func = _sums(3)
    kinds = []
    with walks_kept():
        assert list(walk(func))
        thread = threading.Thread(target=lambda: kinds.append(type(walk(func))))
        thread.start()
        thread.join()
        assert kinds == [types.GeneratorType]
