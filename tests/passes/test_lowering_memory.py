"""What the lowering passes that place memory make of a program, as text before and after."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.passes import keeps, program, rewrites, same

import tirscript
from tirscript.ir import For, walk
from tirscript.passes.lower import (
    compact_buffer_allocation,
    flatten_buffer,
    plan_buffer_allocation,
)
from tirscript.testing import Golden, assert_same_result, copies


class TestPlan:
    def test_an_allocation_moves_into_the_loop_that_fills_it_first(self, golden: Golden) -> None:
        rewrites(
            golden,
            plan_buffer_allocation,
            """
            def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
                B = T.alloc_buffer((4, 8), "float32")
                for i in range(4):
                    for j in range(8):
                        B[i, j] = A[i, j]
                    for j in range(8):
                        C[i, j] = B[i, 7 - j]
            """,
        )

    def test_a_reduction_is_filled_by_its_init(self, golden: Golden) -> None:
        rewrites(
            golden,
            plan_buffer_allocation,
            """
            def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
                B = T.alloc_buffer((8,), "float32")
                for io in range(2):
                    for ii, k in T.grid(4, 8):
                        with T.block("B"):
                            vi = T.axis.spatial(8, io * 4 + ii)
                            vk = T.axis.reduce(8, k)
                            with T.init():
                                B[vi] = T.float32(0)
                            B[vi] = B[vi] + A[vi, vk]
                    for ii in range(4):
                        C[io * 4 + ii] = B[io * 4 + ii]
            """,
        )

    @pytest.mark.parametrize(
        "body",
        [
            # carried from one iteration to the next
            "if i == 0:\n    B[0] = 0\nB[0] = B[0] + 1\nC[i] = B[0]",
            # a part is not written
            "for j in range(3):\n    B[j] = i\nC[i] = B[3]",
            "for j in range(3):\n    B[j] = i\nfor j in range(4, 8):\n    B[j] = i\nC[i] = B[3]",
            "for j in range(2):\n    D[0, j] = i\nfor j in range(2, 4):\n    D[1, j] = i\nC[i] = D[0, 3]",
            # what is not written stands before all other indices, in numbers without signs
            "for j in range(T.uint8(1), T.uint8(8)):\n    B[j] = i\nfor j in range(T.uint8(8)):\n    C[i] += B[j]",
            # written in steps with gaps
            "for j in range(2):\n    B[j * 2] = i\nfor j in range(3):\n    C[i] = B[j]",
            # the condition may be false
            "if C[i] > 0:\n    B[0] = 1\nC[i] = B[0]",
            # the write may not be reached
            "for j in range(4):\n    if C[j] > 0:\n        break\n    B[j] = i\nC[i] = B[2]",
            # read before written
            "C[i] = B[0]\nB[0] = i",
            # an address may be kept
            'B[0] = i\nT.evaluate(T.call_extern("int32", "g", B.data))',
            # the writes go along a diagonal
            "for j in range(2):\n    D[j, j] = i\nC[i] = D[0, 1]",
        ],
    )
    def test_what_an_iteration_may_get_from_an_earlier_one_stays_outside(self, body: str) -> None:
        import textwrap

        lines = textwrap.indent(body, " " * 8)
        used = "D" if "D[" in body else "B"
        shape = "(4, 4)" if used == "D" else "(8,)"
        keeps(
            plan_buffer_allocation,
            f'def f(C: T.Buffer((8,), "int32")):\n    {used} = T.alloc_buffer({shape}, "int32")\n'
            f"    for i in range(8):\n{lines}\n",
        )

    @pytest.mark.parametrize(
        "body",
        [
            # the condition keeps the read in the buffer
            "for j in range(8):\n    B[j] = i\nfor j in range(12):\n    C[i] += B[j] if j < 8 else 0",
            "for j in range(8):\n    B[j] = i\nfor j in range(12):\n    C[i] += B[j - 4] if j >= 4 else 0",
            # two loops fill it together
            "for j in range(5):\n    B[j] = i\nfor j in range(5, 8):\n    B[j] = 1\nfor j in range(8):\n    C[i] += B[j]",
            "for j, k in T.grid(2, 3):\n    D[j, k] = i\nfor j in range(2):\n    D[j, 3] = 1\n"
            "for j, k in T.grid(2, 4):\n    C[i] += D[j, k]",
        ],
    )
    def test_what_an_iteration_fills_moves_into_it(self, body: str) -> None:
        import textwrap

        lines = textwrap.indent(body, " " * 8)
        func = program(
            'def f(C: T.Buffer((8,), "int32")):\n'
            '    B = T.alloc_buffer((8,), "int32")\n'
            '    D = T.alloc_buffer((4, 4), "int32")\n'
            f"    for i in range(8):\n        C[i] = 0\n{lines}\n"
        )
        planned = plan_buffer_allocation(func)
        used = "D" if "D[" in body else "B"
        (loop,) = [stmt for stmt in planned.body if type(stmt) is For]
        assert any(getattr(stmt, "buffer", None) is not None and stmt.buffer.name == used for stmt in loop.body)
        assert_same_result(func, planned)

    def test_branches_hold_allocations(self, golden: Golden) -> None:
        rewrites(
            golden,
            plan_buffer_allocation,
            """
            def f(C: T.Buffer((8,), "int32"), n: T.int32):
                B = T.alloc_buffer((8,), "int32")
                if n > 0:
                    C[0] = n
                    B[0] = n
                    C[1] = B[0]
            """,
        )

    def test_shared_memory_stays_outside_of_threads(self) -> None:
        text = """
        def f(C: T.Buffer((8, 4), "int32")):
            B = T.alloc_buffer((4,), "int32", scope="%s")
            for b in T.thread_binding(8, thread="blockIdx.x"):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    B[t] = t
                    C[b, t] = B[t]
        """
        for scope, owner in (("shared", "blockIdx.x"), ("local", "threadIdx.x"), ("global", None)):
            planned = plan_buffer_allocation(program(text % scope))
            holds = [n.thread for n in walk(planned) if type(n) is For and type(n.body[0]).__name__ == "AllocBuffer"]
            assert holds == ([owner] if owner else [])


class TestCompact:
    def test_an_allocation_shrinks_to_what_is_used(self, golden: Golden) -> None:
        rewrites(
            golden,
            compact_buffer_allocation,
            """
            def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
                for i in range(2):
                    B = T.alloc_buffer((8, 8), "float32")
                    for j, k in T.grid(4, 8):
                        B[i * 4 + j, k] = A[i * 4 + j, k]
                    for j, k in T.grid(4, 8):
                        C[i * 4 + j, k] = B[i * 4 + 3 - j, k]
            """,
        )

    def test_vectors_and_guarded_edges(self, golden: Golden) -> None:
        rewrites(
            golden,
            compact_buffer_allocation,
            """
            def f(C: T.Buffer((16,), "float32")):
                B = T.alloc_buffer((64,), "float32")
                D = T.alloc_buffer((16,), "float32")
                B[8:16] = T.broadcast(T.float32(1), 8)
                for i in range(16):
                    D[i] = T.float32(0)
                    if i >= 4:
                        D[i - 4] = B[12]
                        C[i] = D[i - 4]
            """,
        )

    @pytest.mark.parametrize(
        "use",
        [
            "B[C[0]] = 1",
            'T.evaluate(T.call_extern("int32", "g", B.data))',
            'V = T.decl_buffer((2,), "int32", data=B.data)\nV[0] = 1',
            'T.evaluate(T.call_extern("int32", "g", T.address_of(B[1])))',
            "B[n] = 1\nB[0] = 1",
            "for i in range(n):\n    B[i] = 1",
        ],
    )
    def test_what_is_not_known_stays(self, use: str) -> None:
        import textwrap

        lines = textwrap.indent(use, "    ")
        keeps(
            compact_buffer_allocation,
            f'def f(C: T.Buffer((8,), "int32"), n: T.int32):\n    B = T.alloc_buffer((8,), "int32")\n    B[1] = 0\n{lines}\n',
        )

    def test_boxes_of_indices_without_signs_are_compared_as_numbers(self) -> None:
        keeps(
            compact_buffer_allocation,
            """
            def f(A: T.Buffer((100,), "int32"), C: T.Buffer((100,), "int32")):
                B = T.alloc_buffer((100,), "int32")
                for i in range(T.uint8(100)):
                    B[i] = A[i]
                for i in range(T.uint8(1), T.uint8(100)):
                    C[i] = B[i]
            """,
        )

    def test_narrow_indices_that_begin_anew_are_no_box(self) -> None:
        keeps(
            compact_buffer_allocation,
            """
            def f(C: T.Buffer((8,), "int32")):
                B = T.alloc_buffer((256,), "int32")
                for i in range(T.uint8(100)):
                    B[i + T.uint8(200)] = 1
                for i in range(T.uint8(8)):
                    C[i] = B[i]
            """,
        )

    def test_a_box_that_wraps_is_not_believed(self) -> None:
        keeps(
            compact_buffer_allocation,
            """
            def f():
                B = T.alloc_buffer((8,), "int32")
                for i in range(4):
                    B[i * 1073741824 * 2] = 1
                    B[i * 1073741824 * 2 + 1] = 1
            """,
        )


class TestFlatten:
    def test_row_major(self, golden: Golden) -> None:
        rewrites(
            golden,
            flatten_buffer,
            """
            def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
                B = T.alloc_buffer((4, 8), "float32")
                for i, j in T.grid(4, 8):
                    B[i, j] = A[i, j]
                    C[i * 8 + j] = B[i, j]
            """,
        )

    def test_strides_vectors_and_scalars(self, golden: Golden) -> None:
        rewrites(
            golden,
            flatten_buffer,
            """
            def f(A: T.Buffer((4, 8), "float32", strides=(1, 4)), B: T.Buffer((4, 8), "float32")):
                x: T.float32 = T.float32(0)
                for i in range(4):
                    x = x + A[i, 0]
                    B[i, 0:8] = A[i, 0:8] + T.broadcast(x, 8)
            """,
        )

    def test_strides_of_less_than_zero(self, golden: Golden) -> None:
        """The flat view begins at the lowest address, so that its indices count from zero."""
        rewrites(
            golden,
            flatten_buffer,
            """
            def f(A: T.Buffer((4, 8), "int32", strides=(-8, 1)), B: T.Buffer((4, 8), "int32", strides=("s", "t"))):
                for i in range(4):
                    B[i, 0:8] = A[i, 0:8] + 1
            """,
        )

    def test_symbolic_shapes_count_in_int64(self, golden: Golden) -> None:
        rewrites(
            golden,
            flatten_buffer,
            """
            def f(a: T.handle, n: T.int32):
                A = T.match_buffer(a, (n, 4), "float32")
                for i in range(n):
                    A[i, 1] = T.float32(1)
            """,
        )

    def test_large_constant_shapes_count_in_int64(self) -> None:
        func = flatten_buffer(
            program("""
        def f(A: T.Buffer((65536, 65536), "int8")):
            for i in range(65536):
                A[i, 0] = T.int8(1)
        """)
        )
        store = func.body[1].body[0]  # type: ignore[attr-defined]
        assert store.indices[0].dtype.name == "int64"

    def test_addresses_views_and_functions_that_take_the_whole_buffer(self) -> None:
        from tirscript.ir import Module
        from tirscript.script import parse

        module = parse("""
from tirscript.script import ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func
    def g(A: T.Buffer((4, 8), "float32")):
        A[0, 0] = T.float32(1)

    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32")):
        B = T.alloc_buffer((4, 8), "float32")
        C = T.alloc_buffer((4, 8), "float32")
        V = T.decl_buffer((2, 16), "float32", data=C.data)
        B[0, 1] = A[1, 1]
        M.g(B)
        V[1, 2] = B[0, 0]
        T.evaluate(T.call_extern("int32", "h", T.address_of(V[1, 3]), C.data))
""")
        wanted = parse("""
from tirscript.script import ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func
    def g(A: T.Buffer((4, 8), "float32")):
        A_1 = T.decl_buffer((32,), "float32", data=A.data)
        A_1[0] = T.float32(1)

    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32")):
        A_1 = T.decl_buffer((32,), "float32", data=A.data)
        B = T.alloc_buffer((4, 8), "float32")
        B_1 = T.decl_buffer((32,), "float32", data=B.data)
        C = T.alloc_buffer((32,), "float32")
        V = T.decl_buffer((32,), "float32", data=C.data)
        B_1[1] = A_1[9]
        M.g(B)
        V[18] = B_1[0]
        T.evaluate(T.call_extern("int32", "h", T.address_of(V[19]), C.data))
""")
        assert isinstance(module, Module)
        found = flatten_buffer(module)
        same(found, wanted)
        assert flatten_buffer(found) is found

    def test_a_view_stands_behind_what_it_views(self) -> None:
        """Also where memory is allocated between the parameters' shapes."""
        from tirscript.script import parse

        head = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"
        func = parse(f"""{head}def f(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 8), "float32")
    B = T.alloc_buffer((4, 8), "float32")
    B[1, 0] = A[1, 0]
    C = T.match_buffer(c, (4, 8), "float32")
    C[2, 0] = B[1, 0]
""")
        wanted = parse(f"""{head}def f(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 8), "float32")
    A_1 = T.decl_buffer((32,), "float32", data=A.data)
    B = T.alloc_buffer((32,), "float32")
    B[8] = A_1[8]
    C = T.match_buffer(c, (4, 8), "float32")
    C_1 = T.decl_buffer((32,), "float32", data=C.data)
    C_1[16] = B[8]
""")
        found = flatten_buffer(func)
        same(found, wanted)
        same(parse(str(found)), wanted)

    def test_flat_programs_are_kept(self) -> None:
        keeps(
            flatten_buffer,
            'def f(A: T.Buffer(("n",), "float32")):\n    x: T.float32 = A[0]\n    x = x + x\n    A[1] = x',
        )


@pytest.mark.parametrize(
    "body",
    [
        "V = T.decl_buffer((8,), 'int32', data=A.data, strides=(-1,), elem_offset=7)\nfor j in range(8):\n    V[j] = B[j]",
        "V = T.decl_buffer((8, 3), 'int32', data=A.data, strides=(-3, 2), elem_offset=30)\n"
        "for j, k in T.grid(8, 3):\n    V[j, k] = B[j] + A[k + 40]",
    ],
)
def test_a_view_that_counts_down_is_flat_from_its_lowest_address(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    func = program(f"def f(A: T.Buffer((64,), 'int32'), B: T.Buffer((64,), 'int32')):\n{lines}")
    assert_same_result(func, flatten_buffer(func))
    rng = np.random.default_rng(0)
    given = [rng.integers(0, 99, 64).astype("int32") for _ in range(2)]
    wanted, found = copies(given), copies(given)
    tirscript.interpret(func, *wanted)
    tirscript.build(func, debug=True)(*found)  # each index is checked
    assert all(map(np.array_equal, wanted, found))
