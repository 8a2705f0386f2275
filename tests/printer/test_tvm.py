"""Text in TVM's dialect. The texts here were read by apache-tvm 0.27 when they were written down."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.printer import dedent, formatted, function_of

from tirscript.ir import OPS, Attrs, Call, DiagnosticError, Module, Var, const, dtype, structural_equal
from tirscript.printer import script
from tirscript.script import parse


def tvm_body(body: str, **options: Any) -> str:
    """The lines of a function's body in TVM's dialect."""
    text = script(function_of(body, **options), dialect="tvm")
    assert formatted(text) == text
    lines = text[text.index("@T.prim_func") :].split("\n")
    start = next(at for at, line in enumerate(lines) if line.endswith(":"))
    return dedent("\n".join(line[4:] for line in lines[start + 1 :]))


def refused(body: str, **options: Any) -> str:
    """What the diagnostic says of a body that TVM has no text for."""
    with pytest.raises(DiagnosticError) as caught:
        script(function_of(body, **options), dialect="tvm")
    (found,) = caught.value.diagnostics
    assert found.code == "T405"
    return found.message


def test_floats_keep_the_digits_that_the_program_gives() -> None:
    # TVM keeps a float64 for every float, and no two of them are equal that differ in the last digit
    body = (
        "A[0] = A[1] * T.float32(0.7071067811865476) + T.float32(-9.21034049987793)\n"
        "A[1] = A[0] - T.float32(0.3333333432674408) + T.float32(1e-05) * A[0]\n"
        "A[2] = T.max(A[0], -0.12345678901234)\n"
        "H[0] = T.float16(0.08838834764831845) * H[0] + T.float16(3.0)\n"
        "Z[0] = T.max(Z[0], T.bfloat16(-3.3895313892515355e38))\n"
    )
    head = (
        "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"
        'def f(A: T.Buffer((4,), "float32"), H: T.Buffer((4,), "float16"), Z: T.Buffer((4,), "bfloat16")):\n'
    )
    text = head + "".join(f"    {line}\n" for line in body.splitlines())
    found = parse(text)
    assert script(found, dialect="tvm") == text.replace("-0.12345678901234", "T.float32(-0.12345678901234)")
    ours = script(found)  # the shortest decimal that is the same number
    assert "A[1] * 0.70710677 + -9.2103405" in ours and structural_equal(parse(ours), found)


def test_matmul() -> None:
    found = parse(
        dedent(
            """
            from tirscript.script import tir as T


            @T.prim_func
            def matmul(A: T.Buffer(("n", 128), "float32"), C: T.Buffer(("n", 128), "float32"), m: T.int32):
                for i, j, k in T.grid(4, 128, 128):
                    with T.block("update"):
                        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                        T.reads(A[vi, vk])
                        T.writes(C[vi, vj])
                        T.block_attr({"a": 1})
                        with T.init():
                            C[vi, vj] = 0.0
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * 2.0
            """
        )
    )
    text = script(found, dialect="tvm")
    assert text == dedent(
        """
        from tvm.script import tirx as T

        n = T.int64()


        @T.prim_func(s_tir=True)
        def matmul(A: T.Buffer((n, 128), "float32"), C: T.Buffer((n, 128), "float32"), m: T.int32):
            for i, j, k in T.grid(4, 128, 128):
                with T.sblock("update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.reads(A[vi, vk])
                    T.writes(C[vi, vj])
                    T.sblock_attr({"a": 1})
                    with T.init():
                        C[vi, vj] = T.float32(0.0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * T.float32(2.0)
        """
    )
    assert formatted(text) == text


def test_constants_say_their_dtype() -> None:
    assert tvm_body(
        """
        x = A[0]
        y: T.let[T.int32] = 3
        z: T.float32 = 1.0
        z = x + 2.0
        A[0] = z
        X[0] = y + 4
        X[1] = T.int32(3) + 4
        b[0] = T.bool(True)
        A[1] = 3.4028234663852886e38
        while True:
            break
        for i in range(T.int64(2), T.int64(4)):
            A[i] = (-2.0) ** A[i]
        """
    ) == dedent(
        """
        x: T.let[T.float32] = A[0]
        y: T.let[T.int32] = 3
        z: T.float32 = T.float32(1.0)
        z = x + T.float32(2.0)
        A[0] = z
        X[0] = y + 4
        X[1] = T.Add(3, 4)
        b[0] = T.bool(True)
        A[1] = T.float32(3.4028234663852886e38)
        while True:
            break
        for i in range(T.int64(2), T.int64(4)):
            A[i] = T.pow(T.float32(-2.0), A[i])
        """
    )


def test_expressions() -> None:
    assert tvm_body(
        """
        A[0:4] = A[T.ramp(0, 2, 4)] * T.broadcast(T.float32(2), 4)
        A[0] = A[1] if n > 3 else A[2]
        A[0] = T.Select(n > 3 and not n == 4, A[1], 0.0)
        A[0] = T.cast(X[0], "float32")
        A[0] = T.let("x", A[1], lambda x: x * x)
        A[0] = T.let("x", A[1], lambda x: x + T.let("x", A[2], lambda x: x))
        b[0] = T.isnan(A[0])
        assert n > 3
        T.evaluate(T.call_extern("int32", "f", A.data))
        """
    ) == dedent(
        """
        x = T.float32()
        x_1 = T.float32()
        x_2 = T.float32()
        A[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 2, 4)] * T.Broadcast(T.float32(2.0), 4)
        A[0] = T.if_then_else(n > 3, A[1], A[2])
        A[0] = T.Select(n > 3 and not n == 4, A[1], T.float32(0.0))
        A[0] = T.Cast("float32", X[0])
        A[0] = T.Let(x * x, where={x: A[1]})
        A[0] = T.Let(x_1 + T.Let(x_2, where={x_2: A[2]}), where={x_1: A[1]})
        b[0] = T.isnan(A[0])
        assert n > 3, ""
        T.evaluate(T.call_extern("int32", "f", A.data))
        """
    )


def test_allocations_tell_blocks_apart() -> None:
    assert tvm_body(
        """
        C = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                D = T.alloc_buffer((4,), "float32", scope="local")
                D[0] = A[vi]
                C[vi] = D[0]
            E = T.alloc_buffer((4,), "float32")
            E[i] = C[i]
        """
    ) == dedent(
        """
        C = T.sblock_alloc_buffer((4,), "float32")
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                D = T.sblock_alloc_buffer((4,), "float32", scope="local")
                D[0] = A[vi]
                C[vi] = D[0]
            E = T.alloc_buffer((4,), "float32")
            E[i] = C[i]
        """
    )
    assert tvm_body("C = T.alloc_buffer((4,), 'float32')\nC[0] = A[0]").startswith("C = T.alloc_buffer(")


def test_a_block_with_a_scalar_says_what_it_accesses() -> None:
    assert tvm_body(
        """
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                x: T.float32 = A[vi]
                x = x + 1.0
                B[vi, 0] = x
        """
    ) == dedent(
        """
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                T.reads(A[0:16])
                T.writes(B[0:4, 0:4])
                x: T.float32 = A[vi]
                x = x + T.float32(1.0)
                B[vi, 0] = x
        """
    )


def test_modules_and_options() -> None:
    text = dedent(
        """
        from tirscript.script import ir as I, tir as T


        @I.ir_module
        class Module:
            I.module_attrs({"a": 1})

            @T.prim_func(private=True)
            def g(A: T.Buffer(("n",), "float32"), k: T.int32):
                A[0] = 1.0

            @T.prim_func(check_well_formed=False)
            def main(A: T.Buffer((4,), "float32")):
                Module.g(A, 3)
        """
    )
    found = parse(text)
    assert isinstance(found, Module)
    made = script(found, dialect="tvm")
    assert made == text.replace(
        "from tirscript.script import ir as I, tir as T\n",
        "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n\nn = T.int64()\n",
    ).replace('("n",)', "(n,)").replace("1.0", "T.float32(1.0)").replace(
        "private=True", "private=True, s_tir=True"
    ).replace("=False)", "=False, s_tir=True)")
    assert formatted(made) == made
    assert script(Module(()), dialect="tvm").startswith("from tvm.script import ir as I\n\n\n@I")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("T.static_assert(n > 3)", "static_assert"),
        ("T.print(n)", "T.print"),
        ("breakpoint()", "T.breakpoint"),
        ("A[0] = T.undef('float32')", "T.undef"),
        ("A[0] = T.expm1(A[0])", "T.expm1"),
        ("return", "return"),
        ("T.evaluate(T.cast(A[0], 'bfloat16') ** T.cast(A[1], 'bfloat16'))", "power of bfloat16"),
        ("T.evaluate(T.isnan(T.cast(A[0], 'bfloat16')))", "isnan"),
    ],
)
def test_what_tvm_has_no_text_for(body: str, word: str) -> None:
    assert word in refused(body)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("A.vstore([0], 1, predicate=n > 2)", "T.masked_store(A, T.float32(1.0), 0, n > 2)"),
        ("A[0] = A.vload([n], predicate=n > 2)", 'A[0] = T.masked_load("float32", A, n, n > 2)'),
    ],
)
def test_predicated_accesses_are_masked_ones(body: str, text: str) -> None:
    assert tvm_body(body).strip() == text
    made = function_of(body)
    assert structural_equal(parse(script(made, dialect="tvm")), made)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('p = T.reinterpret(T.handle("int8"), A.data)', 'p: T.let[T.handle("int8")] = T.reinterpret(T.handle("int8").ty, A.data)'),
        ('T.evaluate(T.tvm_struct_get(A.data, 0, 1, T.handle("int8", "shared")))', 'T.evaluate(T.tvm_struct_get(A.data, T.int32(0), T.int32(1), T.handle("int8", "shared").ty))'),
        ('T.evaluate(T.call_extern("handle", "f"))', 'T.evaluate(T.call_extern("handle", "f"))'),
    ],
)  # fmt: skip
def test_calls_that_give_pointers_say_their_type(body: str, text: str) -> None:
    made = function_of(body)
    for dialect in ("tirscript", "tvm"):
        assert structural_equal(parse(script(made, dialect=dialect)), made)
    assert text.split() == tvm_body(body).replace("(\n        ", "(").replace("\n    )", ")").split()


@pytest.mark.parametrize(
    ("buffer", "text"),
    [
        ('(16, "n"), "float32", strides=("n", 1)', '(16, "n"), "float32", strides=(n, 1)'),
        ('(16, 4), "float32", elem_offset="n * 4"', '(16, 4), "float32", elem_offset=n * 4'),
    ],
)
def test_strides_and_offsets_are_those_of_parameters(buffer: str, text: str) -> None:
    head = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"
    made = parse(f"{head}def main(C: T.Buffer({buffer}), n: T.int32):\n    C[0, 0] = 1.0\n")
    printed = script(made, dialect="tvm")
    assert f"C: T.Buffer({text})" in printed
    assert structural_equal(parse(printed), made)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ('"nvidia/nvidia-a100"', '"nvidia/nvidia-a100"'),
        ('"nvidia/nvidia-a100", host="llvm"', '"nvidia/nvidia-a100", host={"kind": "llvm"}'),
        ('"nvidia/nvidia-a100 -arch=sm_70"', '{"tag": "nvidia/nvidia-a100", "arch": "sm_70"}'),
        ('"cuda", host="intel/haswell -mcpu=x"', '{"kind": "cuda", "host": {"tag": "intel/haswell", "mcpu": "x"}}'),
    ],
)
def test_machines_are_no_kinds_of_targets(given: str, text: str) -> None:
    body = f'T.func_attr({{"target": T.target({given})}})\nA[0] = 1.0'
    assert f"T.target({text})" in " ".join(tvm_body(body).split())
    made = function_of(body)
    assert structural_equal(parse(script(made, dialect="tvm")), made)


def test_calls_that_tvm_has_no_text_for() -> None:
    text = dedent(
        """
        from tirscript.script import ir as I, tir as T


        @I.ir_module
        class Module:
            @T.prim_func
            def g(A: T.Buffer((2,), "float32")):
                A[0] = 1.0

            @T.prim_func
            def main(A: T.Buffer((4,), "float32")):
                Module.g(A[0:2])
        """
    )
    found = parse(text)
    assert isinstance(found, Module)
    with pytest.raises(DiagnosticError, match="region"):
        script(found, dialect="tvm")
    with pytest.raises(DiagnosticError, match="outside of a module"):
        script(found["main"], dialect="tvm")
    func = found["g"].replace(private=True, attrs=Attrs({"global_symbol": "g"}))
    with pytest.raises(DiagnosticError, match="global symbol"):
        script(func, dialect="tvm")


def test_fragments() -> None:
    x = Var("x", dtype("float32"))
    assert script(Call(OPS["pow"], (x, const(2.0)), x.dtype), dialect="tvm") == "T.pow(x, T.float32(2.0))"
    assert script(const(1.5), dialect="tvm") == "T.float32(1.5)"
    assert script(-x, dialect="tvm") == "-x"


def test_what_tvm_would_fold_while_it_reads_is_its_class() -> None:
    body = "X[2] = n * 1 + 0\nX[3] = 0 * n - 0\nX[4] = n // 1 + n % 1\nX[6] = T.min(n, n) + T.max(n, 3)\nA[3] = A[3] / 1.0 + 2.0"
    assert tvm_body(body) == dedent(
        """
        X[2] = T.Add(T.Mul(n, 1), 0)
        X[3] = T.Sub(T.Mul(0, n), 0)
        X[4] = T.FloorDiv(n, 1) + T.FloorMod(n, 1)
        X[6] = T.Min(n, n) + T.max(n, 3)
        A[3] = T.Div(A[3], T.float32(1.0)) + T.float32(2.0)
        """
    )
    assert structural_equal(parse(script(function_of(body), dialect="tvm")), function_of(body))


def test_literals_that_only_a_class_of_tvm_takes() -> None:
    assert tvm_body("T.evaluate(T.float64(1e300))") == 'T.evaluate(T.FloatImm("float64", 1e300))\n'
    text = tvm_body("T.evaluate(T.uint64(18446744073709551615))")
    assert text == 'T.evaluate(T.IntImm("uint64", 18446744073709551615))\n'


def test_a_predicate_names_the_loops_and_not_the_axes() -> None:
    made = function_of(
        'for i in range(8):\n    with T.block("b"):\n        v = T.axis.spatial(16, i + 1)\n'
        "        T.where(v < 4)\n        A[v] = 1.0"
    )
    assert "T.where(i + 1 < 4)" in made.script(dialect="tvm")
    assert "T.where(v < 4)" in made.script()


def test_a_block_that_uses_an_address_says_what_it_reads_and_writes() -> None:
    made = function_of('with T.block("b"):\n    T.evaluate(T.call_extern("int32", "f", A.data))')
    text = made.script(dialect="tvm")
    assert "T.reads(A[0:16])" in text and "T.writes(A[0:16])" in text


def test_a_block_that_loads_by_a_let_says_what_it_reads() -> None:
    made = function_of('with T.block("b"):\n    A[0] = T.let("j", 3, lambda j: A[j + 1])')
    text = made.script(dialect="tvm")
    assert "T.reads(A[0:16])" in text and "T.writes(A[0:16])" in text
    plain = function_of('with T.block("b"):\n    A[0] = T.let("v", A[3], lambda v: v + v)').script(dialect="tvm")
    assert "T.reads" not in plain


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in range(2):\n    C = T.match_buffer(A[i * 4 : i * 4 + 4], (4,))\n    C[0] = 1.0", "matched outside of a block"),
        ('X[0] = T.ceildiv(T.let("x", n, lambda x: x + x), 3)', "writes the arguments of `T.ceildiv` out twice"),
        ('X[0] = T.abs(T.let("x", n, lambda x: x + x))', "writes the arguments of `T.abs` out twice"),
        (
            'assert T.isinf(T.let("x", T.float32(1), lambda x: x))',
            "writes the arguments of `T.isinf` out twice",
        ),
        (
            'assert T.isfinite(T.let("x", T.float32(1), lambda x: x))',
            "writes the arguments of `T.isfinite` out twice",
        ),
    ],
)  # fmt: skip
def test_what_it_would_not_read(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        function_of(body).script(dialect="tvm")


def test_a_packed_call_for_its_effect_tells_its_type() -> None:
    func = parse(
        "from tvm.script import relax as R\n@R.function(pure=False)\ndef f(x: R.Tensor((4,), 'float32')):\n"
        "    R.print(x, format='{}')\n    R.call_packed('log', x)\n    R.call_packed('log', x, ty_args=(R.Tuple,))\n"
        "    return x\n"
    )
    lines = [line.strip() for line in func.script(dialect="tvm").splitlines() if "log" in line]
    assert lines[0] == '_: R.Tuple() = R.call_packed("log", x)'  # apache-tvm refuses the call alone
    assert lines[1].startswith('R.call_packed("log", x, ty_args=')
    assert structural_equal(parse(func.script(dialect="tvm")), func)
    assert '\n    G.call_packed("log", x)\n' in func.script()


def test_conditions_of_a_reducer_are_calls() -> None:
    """TVM runs the lambda as Python, where its expressions have no truth for `and`, `or` and `not`."""
    body = """
        with T.attr(
            T.comm_reducer(
                lambda x, y: T.Select(not (x > y or x == 0.0 and y > 1.0), x, y), [T.float32(0.0)]
            ),
            "k",
            1,
        ):
            if A[0] > 0.0 and A[1] > 0.0:
                A[0] = 1.0
        """
    found = tvm_body(dedent(body))
    assert "T.Not(T.Or(x > y, T.And(x == T.float32(0.0), y > T.float32(1.0))))" in found
    assert "if A[0] > T.float32(0.0) and A[1] > T.float32(0.0):" in found


def test_scalars_that_are_vectors_without_a_name_for_their_dtype_are_declared_by_their_value() -> None:
    """TVM has no `T.float32x2` to annotate with."""
    found = tvm_body("x: T.float32x2 = T.broadcast(A[0], 2)\nx = x + x\nA[T.ramp(0, 1, 2)] = x")
    assert found.startswith("x = T.Broadcast(A[0], 2)\nx = x + x\n")
    found = tvm_body("x: T.float32x2\nx = T.broadcast(A[0], 2)\nA[T.ramp(0, 1, 2)] = x")
    assert found.startswith('x = T.local_scalar("float32x2")\n')
    assert tvm_body("x: T.float32x4 = T.broadcast(A[0], 4)\nx = x + x").startswith("x: T.float32x4 = ")


def test_memory_on_the_stack_is_bound_without_an_annotation() -> None:
    """TVM knows by its purpose what it holds, and takes no other type."""
    found = tvm_body('p: T.let[T.handle] = T.tvm_stack_alloca("arg_tcode", 2)\nT.evaluate(p)')
    assert found.startswith('p = T.bind(T.tvm_stack_alloca("arg_tcode", 2))\n')
    assert tvm_body("p = T.tvm_stack_make_shape(2, 4)\nT.evaluate(p)").startswith("p = T.bind(")


def test_lanes_of_a_mask_are_no_bools_of_tvm() -> None:
    found = tvm_body('mask = T.get_active_lane_mask("boolxvscalex4", 0, 13)\nT.evaluate(mask)')
    assert found.startswith('mask = T.bind(T.get_active_lane_mask("uint1xvscalex4", 0, 13))\n')


def test_buffers_are_matched_above_those_that_are_declared() -> None:
    """TVM takes no `T.match_buffer` behind a `T.decl_buffer` or an `assert` of the same body."""
    found = tvm_body(
        """
        # of A
        D = T.decl_buffer((2,), "float32", data=A.data)
        assert A[0] > 0.0, "positive"
        # all of C
        C = T.match_buffer(c, (4,), "float32")
        with T.block("b"):
            E = T.decl_buffer((2,), "float32", data=C.data)
            F = T.match_buffer(A[0:2], (2,), "float32", strides=(1,))
            E[0] = F[1] + D[0]
        """,
        params='A: T.Buffer((4,), "float32"), c: T.handle',
    )
    order = ["# all of C", "C = T.match_buffer", "# of A", "D = T.decl_buffer", "assert", "F = T.match", "E = T.decl"]
    assert sorted(order, key=found.index) == order


@pytest.mark.parametrize("index", ["D.shape[0] + x", "T.cast(X[0], 'int64')"])
def test_a_buffer_that_is_matched_by_what_is_declared_above_is_refused(index: str) -> None:
    said = refused(
        f"""
        with T.block("b"):
            D = T.decl_buffer((2,), "int32", data=X.data)
            x = D[0]
            F = T.match_buffer(A[{index}], (1,), "float32")
            F[0] = 1.0
        """,
        params='A: T.Buffer((4,), "float32"), X: T.Buffer((4,), "int32")',
    )
    assert said == "TVM matches buffers above what a body declares and asserts, and `F` needs some"


def test_loops_that_count_by_one_are_a_grid_as_they_are_read_again() -> None:
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((2, 3, 4), "float32")):
    for i in range(2):
        for j in range(0, 3, 1):
            for k in range(0, 4, 1):
                A[i, j, k] = 0.0
"""
    )
    text = func.script(dialect="tvm")
    assert "for i, j, k in T.grid(2, 3, 4):" in text
    assert parse(text).script(dialect="tvm") == text
