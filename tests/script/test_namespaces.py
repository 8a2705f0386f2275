"""T, I and G as Python objects: what they list, show and are in other processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from typing import Any

import pytest

from tirscript.ir import Op
from tirscript.ir.graph_op import GraphOp
from tirscript.ir.graph_ops.table import FOREIGN_GRAPH_OPS, GRAPH_OPS
from tirscript.ir.op import FOREIGN, OPS
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("namespace", [T, I, G, T.axis, G.nn], ids=repr)
def test_a_copy_is_the_namespace(namespace: Any, how: Any) -> None:
    assert repr(how(namespace)) == repr(namespace) and dir(how(namespace)) == dir(namespace)
    assert namespace not in (T, I, G, T.axis) or how(namespace) is namespace


def test_what_is_listed_can_be_completed() -> None:
    assert {"exp", "block", "axis", "float32"} <= set(dir(T)) and "spatial" in dir(T.axis)
    assert {"matmul", "nn", "Tensor", "dataflow"} <= set(dir(G)) and "conv2d" in dir(G.nn)
    assert not any("." in name for name in dir(G))
    for name in dir(G):
        getattr(G, name)


@pytest.mark.parametrize(
    ("entry", "doc"), [(T.exp, "e raised to x"), (G.matmul, "The product of matrices"), (T.block, "with T.block")]
)
def test_help_is_that_of_the_entry(entry: Any, doc: str) -> None:
    assert doc in (inspect.getdoc(entry) or "") and doc in pydoc.render_doc(entry, renderer=pydoc.plaintext)


def test_the_classes_of_entries_keep_theirs() -> None:
    assert (Op.__doc__ or "").startswith("One operator or intrinsic.")
    assert (GraphOp.__doc__ or "").startswith("One operator.")


@pytest.mark.parametrize(
    ("entry", "call"),
    [
        (T.exp, "T.exp(x)"),
        (T.cast, "T.cast(value, dtype)"),
        (T.call_extern, "T.call_extern(to, name, *args)"),
        (G.matmul, "G.matmul(x1, x2, out_dtype=None)"),
        (G.print, "G.print(*args, format='')"),
    ],
)
def test_help_shows_what_an_operator_takes(entry: Any, call: str) -> None:
    assert f"`{call}`" in pydoc.render_doc(entry, renderer=pydoc.plaintext)
    assert call.endswith(str(inspect.signature(entry)))


def test_every_operator_says_what_it_takes() -> None:
    for entry in (*OPS.values(), *FOREIGN.values(), *GRAPH_OPS.values(), *FOREIGN_GRAPH_OPS.values()):
        assert isinstance(inspect.signature(entry), inspect.Signature)
    assert list(inspect.signature(Op).parameters)[:2] == ["name", "arity"]


def test_types_are_shown_as_they_are_written() -> None:
    assert repr(T.Buffer((4, "n"), "int8")) == "<T.Buffer((4, 'n'), \"int8\")>"
    assert repr(T.let[T.int32]) == "<T.let[T.int32]>"
    assert "T.axis.spatial(128, i)" in (inspect.getdoc(T.axis.spatial) or "")
