"""Other spellings read as ours: each text is structurally equal to the one in our words."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.script import PARAMS, function, one_mistake

from tirscript.ir import PrimFunc, dtype, structural_equal
from tirscript.ir.stmt import Bind
from tirscript.script import parse
from tirscript.script import tir as T

SAME = [
    ('C = T.allocate([16], "float32", "global")\nC[0] = 1.0', 'C = T.alloc_buffer((16,), "float32")\nC[0] = 1.0'),
    ('with T.allocate([16], "int8", "shared") as C:\n    C[0] = 1', 'C = T.alloc_buffer((16,), "int8", scope="shared")\nC[0] = 1'),
    ('C = T.alloc_local((4,), "float16")\nC[0] = 1.0', 'C = T.alloc_buffer((4,), "float16", scope="local")\nC[0] = 1.0'),
    ('C = T.alloc_shared((4,), "float16")\nC[0] = 1.0', 'C = T.alloc_buffer((4,), "float16", scope="shared")\nC[0] = 1.0'),
    ('C = T.Buffer((8,), "float32", data=A.data)\nC[0] = 1.0', 'C = T.decl_buffer((8,), "float32", data=A.data)\nC[0] = 1.0'),
    ('C = T.Buffer((8,), "float32", A.data)\nC[0] = 1.0', 'C = T.decl_buffer((8,), "float32", data=A.data)\nC[0] = 1.0'),
    # the order of TVM 0.27, and the one before, in which the scope was the sixth
    (
        'C = T.Buffer((4,), "float32", A.data, [2], None, 8, "global", 16, 1)\nC[0] = 1.0',
        'C = T.decl_buffer((4,), "float32", data=A.data, strides=[2], elem_offset=2, align=16, offset_factor=1)\nC[0] = 1.0',
    ),
    (
        'C = T.decl_buffer((4,), "float32", A.data, [2], 3, "global", 16, 1)\nC[0] = 1.0',
        'C = T.decl_buffer((4,), "float32", data=A.data, strides=[2], elem_offset=3, align=16, offset_factor=1)\nC[0] = 1.0',
    ),
    (
        'C = T.alloc_buffer((4,), "float32", None, [2], None, 8, "shared", 16, 1)\nC[0] = 1.0',
        'C = T.alloc_buffer((4,), "float32", strides=[2], elem_offset=2, scope="shared", align=16, offset_factor=1)\nC[0] = 1.0',
    ),
    (
        'C = T.alloc_buffer((4,), "float32", None, [2], 2, "shared", 16, 1)\nC[0] = 1.0',
        'C = T.alloc_buffer((4,), "float32", strides=[2], elem_offset=2, scope="shared", align=16, offset_factor=1)\nC[0] = 1.0',
    ),
    (
        'C = T.decl_buffer((4,), "float32", None, None, None, 8, "shared")\nC[0] = 1.0',
        'C = T.alloc_buffer((4,), "float32", elem_offset=2, scope="shared")\nC[0] = 1.0',
    ),
    ("C = A.view(4, 4)\nC[0, 0] = 1.0", 'C = T.decl_buffer((4, 4), "float32", data=A.data)\nC[0, 0] = 1.0'),
    ("C = B.view((16,))\nC[0] = 1.0", 'C = T.decl_buffer((16,), "float32", data=B.data)\nC[0] = 1.0'),
    ("with T.LetStmt(n + 1) as x:\n    X[0] = x", "x = n + 1\nX[0] = x"),
    ('x = T.var("int32")\nwith T.let(x, n + 1):\n    X[0] = x', "x = n + 1\nX[0] = x"),
    ('T.attr(A.data, "key", 1)\nX[0] = 1\nX[1] = 2', 'with T.attr(A.data, "key", 1):\n    X[0] = 1\n    X[1] = 2'),
    ('if n > 0:\n    T.attr(n, "key", 1)\n    X[0] = 1\nX[1] = 2', 'if n > 0:\n    with T.attr(n, "key", 1):\n        X[0] = 1\nX[1] = 2'),
    ("while n > 0:\n    T.evaluate(T.continue_loop())", "while n > 0:\n    continue"),
    ("while n > 0:\n    T.break_loop()", "while n > 0:\n    break"),
    ('A[0] = T.Cast("float32", n)', 'A[0] = T.cast(n, "float32")'),
    ("X[0] = T.Div(n, 2)", "X[0] = T.truncdiv(n, 2)"),
    ("A[0] = T.Div(A[1], A[2])", "A[0] = A[1] / A[2]"),
    ("X[0] = T.Mod(n, 2)", "X[0] = T.truncmod(n, 2)"),
    ("A[0] = T.Mod(A[1], A[2])", "A[0] = T.truncmod(A[1], A[2])"),
    ("X[0] = T.Add(n, T.FloorDiv(n, 2))", "X[0] = n + n // 2"),
    ("A[T.Ramp(0, 1, 4)] = T.Broadcast(1.0, 4)", "A[0:4] = T.broadcast(1.0, 4)"),
    ('with T.sblock("b"):\n    T.sblock_attr({"k": 1})\n    C = T.sblock_alloc_buffer((4,))\n    C[0] = 1.0',
     'with T.block("b"):\n    T.block_attr({"k": 1})\n    C = T.alloc_buffer((4,))\n    C[0] = 1.0'),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), SAME, ids=[theirs[:40] for theirs, _ in SAME])
def test_other_spellings(theirs: str, ours: str) -> None:
    assert structural_equal(function(theirs), function(ours))


@pytest.mark.parametrize("declared", ["", ": T.let[T.handle]", ': T.let[T.handle("int8")]'])
@pytest.mark.parametrize("value", ["p", "A.data", 'T.tvm_struct_get(p, 0, 1, "handle")'])
def test_the_name_of_an_address_is_of_what_the_address_is_of(declared: str, value: str) -> None:
    text = f'@T.prim_func\ndef f(p: T.handle, A: T.Buffer((4,), "float32")):\n    q{declared} = {value}\n'
    made = parse(text + '    C = T.decl_buffer((4,), "float32", data=q)\n    C[0] = 1.0\n')
    assert isinstance(made, PrimFunc)
    (bound,) = [stmt for stmt in made.body if isinstance(stmt, Bind)]
    assert bound.var.dtype is bound.value.dtype
    assert structural_equal(parse(made.script()), made)


def test_a_returned_value_gives_the_function_its_dtype() -> None:
    made = function("T.ret(m)", PARAMS + ", m: T.int64")
    assert made.returns is dtype("int64") and structural_equal(
        made, function("return m", PARAMS + ", m: T.int64", " -> T.int64")
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('with T.allocate([16], "float32"):\n    pass', "the memory needs a name"),
        ("with T.LetStmt(1, 2) as x:\n    pass", "a name and a value"),
        ("C = A.view()", "the new shape"),
        ("x = A.view(4, 4)[0, 0]", "is a statement"),
        ("T.attr(n, 1, 2)", "the key of `T.attr` is a string"),
        ("T.ret()", "takes one value"),
        ("X[0] = T.Div(n)", "wrong arguments for `T.Div`"),
        ("A[0] = T.Div(n, A[0] > 0.0)", "`/` of int32 and bool"),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    assert message in one_mistake(body).message


@pytest.mark.parametrize(
    ("by_place", "by_name"),
    [
        ("None, [1]", "strides=[1]"),
        ('None, [2], None, 8, "shared", 16, 1, "default", 3',
         'strides=[2], elem_offset=2, scope="shared", align=16, offset_factor=1, allocated_addr=3'),
        ('None, [2], 3, "shared", 16, 1, "", []',
         'strides=[2], elem_offset=3, scope="shared", align=16, offset_factor=1'),
    ],
)  # fmt: skip
def test_annotations_take_their_arguments_in_the_order_of_tvm(by_place: str, by_name: str) -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32", {})):\n    A[0] = 1.0\n'
    assert structural_equal(parse(text.format(by_place)), parse(text.format(by_name)))

    def annotation(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return vars(T.Buffer((4,), "float32", *args, **kwargs))

    assert eval(f"annotation({by_place})") == eval(f"annotation({by_name})")
