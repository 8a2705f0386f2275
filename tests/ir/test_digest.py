"""Digests of programs: the same for what is structurally equal, in every process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tirscript
from tirscript.ir import Attrs, Bind, Module, PrimFunc, Var, const, structural_equal
from tirscript.ir.digest import structural_digest
from tirscript.script import parse
from tirscript.testing import examples, programs

ROOT = Path(__file__).resolve().parent.parent.parent


@settings(max_examples=30, deadline=None)
@given(program=programs())
def test_a_program_read_again_has_its_digest(program: Any) -> None:
    again = parse(program.script())
    assert structural_digest(again) == structural_digest(program) is not None


def test_examples_have_digests_of_their_own() -> None:
    kernels = [example.kernel for example in examples()]
    digests = {structural_digest(kernel) for kernel in kernels}
    assert None not in digests and len(digests) == len(kernels)
    module = Module(tuple(kernels[:2]))
    assert structural_digest(module) == structural_digest(module.replace(name="Other")) not in digests


def test_other_processes_agree() -> None:
    code = (
        "from tirscript.ir.digest import structural_digest\nfrom tirscript.examples.softmax import softmax\n"
        "print(structural_digest(softmax))"
    )
    from tirscript.examples.softmax import softmax

    for seed in ("0", "5"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == structural_digest(softmax)


@pytest.mark.parametrize(
    "a,b",
    [
        (1, True),
        (1, 1.0),
        ("1", 1),
        ((1, 2), (12,)),
        (("a", "bc"), ("ab", "c")),
        ("a;s1;b", "a"),
        (None, "N"),
        (0.0, -0.0),
        (float("nan"), float("inf")),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, ("a", 1)),
        ((), None),
        (((),), ((), ())),
        ("é", "e"),
        ("\ud800", "?"),
    ],
)
def test_values_that_differ_are_told_apart(a: Any, b: Any) -> None:
    one, two = (PrimFunc("f", (), (), Attrs({"key": value})) for value in (a, b))
    assert None is not structural_digest(one) != structural_digest(two) is not None
    assert structural_digest(one) == structural_digest(PrimFunc("f", (), (), Attrs({"key": a})))


def test_the_order_of_attributes_does_not_count() -> None:
    one = PrimFunc("f", (), (), Attrs({"a": 1, "b": 2}))
    two = PrimFunc("f", (), (), Attrs({"b": 2, "a": 1}))
    assert structural_equal(one, two) and structural_digest(one) == structural_digest(two)
    assert structural_digest(one) != structural_digest(PrimFunc("f", (), (), Attrs({"a": 2, "b": 1})))


def test_what_only_this_process_knows_has_no_digest() -> None:
    free = Var("x")
    assert structural_digest(PrimFunc("f", (), (Bind(Var("y"), free + 1),))) is None
    assert structural_digest(PrimFunc("f", (free,), (Bind(Var("y"), free + 1),))) is not None
    assert structural_digest(PrimFunc("f", (), (), Attrs({"key": object()}))) is None
    text = """
from tirscript.script import tir as T

@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    W = T.allocate_const(w, "float32", (200,))
    A[0] = W[0]
"""
    held = parse(text, names={"w": np.arange(200, dtype="float32") / 7})
    assert structural_digest(held) is not None
    elided = re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", held.script())
    assert structural_digest(parse(elided)) is None, "nobody has the data"


def test_which_variable_is_used_counts() -> None:
    x, y = Var("x"), Var("y")
    one, two = (PrimFunc("f", (x, y), (Bind(Var("z"), value + const(1)),)) for value in (x, y))
    assert structural_digest(one) != structural_digest(two)
    swapped = PrimFunc("f", (y, x), (Bind(Var("z"), y + const(1)),))
    assert structural_digest(one) == structural_digest(swapped)
    assert tirscript.ir.structural_equal(one, swapped)
