"""T, I and G as Python objects: what they list, show and are in other processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from typing import Any

import pytest

from tirscript.ir import Op
from tirscript.ir.graph_ops.table import GraphOp
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
