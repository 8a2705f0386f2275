"""Private functions that are equal up to their names and constants become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import (
    AllocateConst,
    Assert,
    CallFunction,
    MatchBuffer,
    Module,
    PrimFunc,
    structural_equal,
    verify,
    walk,
)
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.passes.share_functions import share_functions
from tirscript.script import parse

HEAD = "from tirscript.script import ir as I, tir as T\n\n\n@I.ir_module\nclass M:\n"
SCALE = """    @T.prim_func(private=True)
    def {name}(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        {head}w = T.allocate_const({weights}, "float32", (4,))
        s = T.allocate_const([{shift}, 1.0], "float32", (2,))
        for i in range(4):
            y[i] = x[i] {sign} w[i] + s[i % 2]

"""
MAIN = """    @T.prim_func
    def main(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        # between
        h = T.alloc_buffer((4,), "float32")
        M.scale(x, h)
        for i in range(2):
            M.scale_1(h, y)
"""


def scale(name: str, weights: list[float], shift: float = 2.0, sign: str = "*", head: str = "") -> str:
    return SCALE.format(name=name, weights=weights, shift=shift, sign=sign, head=head)


def module(*parts: str) -> Module:
    found = parse(HEAD + "".join(parts))
    assert isinstance(found, Module)
    return found


def names(shared: Module) -> list[str]:
    return [one.name for one in shared.functions]


def same_results(before: Module, after: Module) -> None:
    x = np.arange(4, dtype="float32")
    results = []
    for one in (before, after):
        assert not verify(one)
        interpreted, native = np.zeros(4, "float32"), np.zeros(4, "float32")
        tirscript.interpret(one, x, interpreted)
        tirscript.build(one)(x, native)
        results += [interpreted, native]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


FIRST, SECOND = scale("scale", [1, 2, 3, 4]), scale("scale_1", [5, 6, 7, 8])


def test_what_differs_in_constants_is_one_function() -> None:
    before = module(FIRST, SECOND, MAIN)
    after = share_functions(before)
    assert names(after) == ["scale", "main"]
    text = after.script()
    assert structural_equal(parse(text), after)
    shared, main = after["scale"], after["main"]
    assert isinstance(shared, PrimFunc) and isinstance(main, PrimFunc)
    # the constant that is the same in both stays, the other one is passed
    assert len(shared.params) == 3
    assert [stmt.data.array.tolist() for stmt in walk(shared) if type(stmt) is AllocateConst] == [[2.0, 1.0]]
    assert [stmt.data.array.tolist() for stmt in main.body if type(stmt) is AllocateConst] == [
        [1.0, 2.0, 3.0, 4.0],
        [5.0, 6.0, 7.0, 8.0],
    ]
    assert [len(node.args) for node in walk(main) if type(node) is CallFunction] == [3, 3]
    same_results(before, after)
    assert share_functions(after) is after


def test_constants_stand_behind_what_gives_handles_their_shapes() -> None:
    head = """        X = T.match_buffer(x, (4,), "float32")
        Y = T.match_buffer(y, (4,), "float32")
        h = T."""
    main = MAIN.replace('T.Buffer((4,), "float32")', "T.handle").replace("        # between\n        h = T.", head)
    before = module(FIRST, SECOND, main.replace("(x, h)", "(X, h)").replace("(h, y)", "(h, Y)"))
    after = share_functions(before)
    assert names(after) == ["scale", "main"]
    assert structural_equal(parse(after.script()), after)
    kinds = [type(stmt) for stmt in after["main"].body]  # type: ignore[union-attr]
    assert kinds[:4] == [MatchBuffer, MatchBuffer, AllocateConst, AllocateConst]
    same_results(before, after)


def test_equal_functions_share_all_their_constants() -> None:
    before = module(FIRST, scale("scale_1", [1, 2, 3, 4]), MAIN)
    after = share_functions(before)
    assert names(after) == ["scale", "main"]
    main = after["main"]
    assert isinstance(main, PrimFunc) and not any(type(stmt) is AllocateConst for stmt in main.body)
    same_results(before, after)


@pytest.mark.parametrize(
    "other",
    [
        scale("scale_1", [5, 6, 7, 8], sign="-"),
        SECOND.replace("range(4)", "range(3)"),
        SECOND.replace("(private=True)", ""),
        SECOND.replace("w = ", 'T.func_attr({"fastmath": False})\n        w = '),
    ],
)
def test_what_differs_otherwise_stays(other: str) -> None:
    before = module(FIRST, other, MAIN)
    assert share_functions(before) is before


def test_a_constant_that_says_more_stays_where_it_is() -> None:
    first, second = (part.replace("(4,))\n", '(4,), annotations={"keep": 1})\n', 1) for part in (FIRST, SECOND))
    before = module(first, second, MAIN)
    assert share_functions(before) is before
    same = module(first, first.replace("scale", "scale_1"), MAIN)
    assert names(share_functions(same)) == ["scale", "main"]


def test_callers_of_what_is_shared_are_shared() -> None:
    outer = """    @T.prim_func(private=True)
    def {name}(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        M.{inner}(x, y)

"""
    before = module(
        FIRST, SECOND, outer.format(name="a", inner="scale"), outer.format(name="b", inner="scale_1"),
        MAIN.replace("M.scale(", "M.a(").replace("M.scale_1(", "M.b("),
    )  # fmt: skip
    after = share_functions(before)
    assert names(after) == ["scale", "a", "main"]
    same_results(before, after)


def test_what_a_graph_names_stays() -> None:
    graph = """    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        with G.dataflow():
            h = G.call_tir(M.scale, (x,), out=G.Tensor((4,), "float32"))
            y = G.call_tir(M.scale_1, (h,), out=G.Tensor((4,), "float32"))
            G.output(y)
        return y
"""
    text = HEAD.replace("ir as I", "graph as G, ir as I") + FIRST + SECOND + graph
    before = parse(text)
    assert isinstance(before, Module)
    assert share_functions(before) is before
    # it is done when they are called as tensor functions, and in this order of passes
    assert names(GRAPH_LOWERING(before)) == ["scale", "main"]


def test_a_model_is_compiled_as_if_it_had_one_layer_of_each_kind() -> None:
    pytest.importorskip("onnx")
    from tirscript.testing import models

    def kernels(layers: int) -> int:
        tiny: dict[str, Any] = {"layers": layers, "hidden": 32, "heads": 4, "vocabulary": 50, "longest": 40}
        model = tirscript.from_onnx(models.bert(**tiny), shapes={"tokens": (1, 12), "mask": (1, 12)})
        return len(GRAPH_LOWERING(model).functions)

    assert kernels(4) == kernels(3)


LAYERS = """
@I.ir_module
class M:
    @G.graph_func(private=True)
    def first(x: G.Tensor(("n // 2 + 1", 4), "float32"), sizes: G.Shape(["n"])):
        return G.add(x, G.const([1, 2, 3, 4], "float32"))

    @G.graph_func(private=True)
    def second(x: G.Tensor(("n // 2 + 1", 4), "float32"), sizes: G.Shape(["n"])):
        return G.add(x, G.const([5, 6, 7, 8], "float32"))

    @G.graph_func
    def main(x: G.Tensor(("n // 2 + 1", 4), "float32"), sizes: G.Shape(["n"])):
        return M.second(M.first(x, sizes), sizes)
"""


def test_layers_whose_sizes_are_asked_for_are_one() -> None:
    """What says so does not name the function: each layer was scheduled and compiled by itself."""
    passes = [one for one in GRAPH_LOWERING.passes if one.name != "inline_graph_functions"]
    lowered = parse(LAYERS)
    for one in passes:
        lowered = one(lowered)
    asking = [f for f in lowered.functions if any(type(node) is Assert for node in walk(f))]
    assert [f.name for f in asking] == ["first", "main"]
