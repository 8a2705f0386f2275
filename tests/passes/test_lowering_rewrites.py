"""What each lowering pass makes of a program, as text before and after."""

from __future__ import annotations

import pytest
from helpers.passes import keeps, program, rewrites, unchecked

from tirscript.ir import Block, For, If, walk
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.passes import get_pass
from tirscript.passes.lower import (
    infer_regions,
    lower_blocks,
    lower_init_block,
    lower_match_buffer,
    unroll_loop,
)
from tirscript.testing import Golden


class TestInit:
    def test_init_becomes_an_if_on_the_reduce_axes(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_init_block,
            """
            def f(A: T.Buffer((4, 8, 2), "float32"), C: T.Buffer((4,), "float32")):
                for i, k, l in T.grid(4, 8, 2):
                    with T.block("C"):
                        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + A[vi, vk, vl]
            """,
        )

    def test_the_start_of_the_axis_counts(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_init_block,
            """
            def f(C: T.Buffer((1,), "int32")):
                for k in range(2, 8):
                    with T.block("C"):
                        vk = T.axis.reduce((2, 8), k)
                        with T.init():
                            C[0] = 0
                        C[0] = C[0] + vk
            """,
        )

    def test_without_reduce_axes_the_init_always_runs(self) -> None:
        func = unchecked("""
        def f(C: T.Buffer((4,), "int32")):
            for i in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + vi
        """)
        (block,) = [node for node in walk(lower_init_block(func)) if type(node) is Block]
        assert block.init is None
        assert [type(stmt).__name__ for stmt in block.body] == ["BufferStore", "BufferStore"]

    def test_what_the_init_uses_is_defined_before(self) -> None:
        func = program("""
        def f(C: T.Buffer((4, 4), "int32")):
            for i, k in T.grid(4, 4):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    D = T.match_buffer(C[vi, 0:4], (4,), "int32")
                    with T.init():
                        D[0] = 0
                    D[0] = D[0] + vk
        """)
        (block,) = [node for node in walk(lower_init_block(func)) if type(node) is Block]
        assert [type(stmt).__name__ for stmt in block.body] == ["MatchBuffer", "If", "BufferStore"]

    def test_a_program_without_init_is_kept(self) -> None:
        keeps(lower_init_block, 'def f(A: T.Buffer((4,), "int32")):\n    for i in range(4):\n        A[i] = i')


class TestBlocks:
    def test_axes_stand_for_values_and_the_predicate_becomes_an_if(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_blocks,
            """
            def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
                for i, j in T.grid(4, 4):
                    with T.block("B"):
                        v = T.axis.spatial(14, i * 4 + j)
                        T.where(i * 4 + j < 14)
                        T.reads(A[v])
                        T.writes(B[v])
                        # the copy
                        B[v] = A[v]
            """,
        )

    def test_pragmas_stand_around_what_the_block_does(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_blocks,
            """
            def f(B: T.Buffer((4,), "float32")):
                for i in range(4):
                    with T.block("B"):
                        v = T.axis.spatial(4, i)
                        T.where(i < 3)
                        T.block_attr({"pragma_import": "x.ll", "script": 1, "pragma_unroll": 4})
                        B[v] = 1.0
            """,
        )

    def test_nested_blocks_and_allocations(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_blocks,
            """
            def f(B: T.Buffer((4, 4), "float32")):
                for i in range(4):
                    with T.block("outer"):
                        vi = T.axis.spatial(4, i)
                        C = T.alloc_buffer((4,), "float32")
                        for j in range(4):
                            with T.block("C"):
                                vj = T.axis.spatial(4, j)
                                C[vj] = T.cast(vi + vj, "float32")
                        for j in range(4):
                            with T.block("B"):
                                wi = T.axis.spatial(4, vi)
                                wj = T.axis.spatial(4, j)
                                B[wi, wj] = C[wj]
            """,
        )

    def test_an_axis_that_reads_memory_is_bound_once(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_blocks,
            """
            def f(P: T.Buffer((4,), "int32")):
                for i in range(4):
                    with T.block("P"):
                        w = T.axis.opaque(4, i)
                        v = T.axis.opaque(4, P[i])
                        P[w] = 3
                        P[v] = w
            """,
        )

    def test_comments_and_spans_stay(self) -> None:
        func = program("""
        def f(B: T.Buffer((4,), "float32")):
            for i in range(4):
                # about the block
                with T.block("B"):
                    v = T.axis.spatial(4, i)
                    # about the store
                    B[v] = T.float32(1)  # beside
        """)
        lowered = lower_blocks(func)
        text = lowered.script()
        assert text.index("# about the block") < text.index("# about the store") < text.index("# beside")
        store = lowered.body[0].body[0]  # type: ignore[attr-defined]
        assert store.span is not None
        assert store.span.line == 10

    def test_a_block_with_init_must_be_lowered_before(self) -> None:
        func = program("""
        def f(C: T.Buffer((1,), "int32")):
            for k in range(8):
                with T.block("C"):
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        C[0] = 0
                    C[0] = C[0] + vk
        """)
        with pytest.raises(DiagnosticError, match="apply pass `lower_init_block` before"):
            lower_blocks(func)


class TestMatchBuffer:
    def test_regions_become_accesses_of_the_source(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_match_buffer,
            """
            def f(A: T.Buffer((8, 8), "float32")):
                for i in range(2):
                    B = T.match_buffer(A[i * 4:i * 4 + 4, 3], (4,), "float32")
                    C = T.match_buffer(A[0:8, 0:8], (8, 8), "float32")
                    for j in range(4):
                        B[j] = C[j, j]
            """,
        )

    def test_regions_of_regions(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_match_buffer,
            """
            def f(A: T.Buffer((8, 8), "float32")):
                for i in range(2):
                    B = T.match_buffer(A[i * 4:i * 4 + 4, 0:8], (4, 8), "float32")
                    C = T.match_buffer(B[1:3, 2:6], (2, 4), "float32")
                    for j in range(2):
                        C[j, 3] = T.float32(0)
            """,
        )

    def test_symbols_are_bound_where_they_are_used(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_match_buffer,
            """
            def f(A: T.Buffer((8, 16), "float32")):
                for i in range(2):
                    with T.block("A"):
                        vi = T.axis.spatial(2, i)
                        s0 = T.int32()
                        s1 = T.int32()
                        e = T.int32()
                        B = T.match_buffer(
                            A[vi * 4:vi * 4 + 4, 8:16], (4, 8), "float32", strides=[s0, s1], elem_offset=e)
                        T.evaluate(T.call_extern("int32", "gemm", B.data, e, s0))
            """,
        )

    def test_the_address_of_a_region(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_match_buffer,
            """
            def f(A: T.Buffer((8, 16), "float32")):
                for i in range(8):
                    B = T.match_buffer(A[i, 4:8], (4,), "float32")
                    T.evaluate(T.call_extern("int32", "g", B.data))
                    T.evaluate(T.call_extern("int32", "g", T.address_of(B[1])))
            """,
        )

    def test_a_region_of_another_shape_is_refused(self) -> None:
        func = unchecked("""
        def f(A: T.Buffer((8, 8), "float32")):
            B = T.match_buffer(A[0:4, 0:4], (4, 5), "float32")
            B[0, 0] = T.float32(0)
        """)
        with pytest.raises(DiagnosticError, match="dimension 1 is 5, that of the region 4"):
            lower_match_buffer(func)
        func = unchecked("""
        def f(A: T.Buffer((8, 8), "float32")):
            B = T.match_buffer(A[0:4, 0:4], (16,), "float32")
            B[0] = T.float32(0)
        """)
        with pytest.raises(DiagnosticError, match="cannot be a buffer of 1"):
            lower_match_buffer(func)

    def test_a_handle_parameter_is_kept(self) -> None:
        keeps(
            lower_match_buffer,
            """
            def f(a: T.handle):
                A = T.match_buffer(a, (4,), "float32")
                A[0] = T.float32(1)
            """,
        )


class TestUnroll:
    def test_iterations_with_their_own_names(self, golden: Golden) -> None:
        rewrites(
            golden,
            unroll_loop,
            """
            def f(A: T.Buffer((8,), "int32"), n: T.int32):
                for i in T.unroll(2):
                    B = T.alloc_buffer((1,), "int32")
                    t: T.let[T.int32] = A[i] + i
                    B[0] = t
                    A[i] = B[0]
                for i in T.unroll(n, n + 2):
                    A[i] = 0
            """,
        )

    def test_long_unknown_and_broken_loops_stay(self) -> None:
        keeps(
            unroll_loop,
            """
            def f(A: T.Buffer((64,), "int32"), n: T.int32):
                for i in T.unroll(17):
                    A[i] = 0
                for i in T.unroll(n):
                    A[i] = 0
                for i in T.unroll(4):
                    if A[i] > 0:
                        break
                for i in range(4):
                    A[i] = 0
            """,
        )

    def test_a_break_of_an_inner_loop_is_no_hindrance(self) -> None:
        func = unroll_loop(
            program("""
        def f(A: T.Buffer((64,), "int32")):
            for i in T.unroll(2):
                for j in range(3):
                    if A[j] > i:
                        break
        """)
        )
        assert [type(stmt) for stmt in func.body] == [For, For]
        assert unroll_loop(func) is func

    def test_the_limit_is_an_option(self) -> None:
        func = program('def f(A: T.Buffer((4,), "int32")):\n    for i in T.unroll(4):\n        A[i] = i')
        assert get_pass("unroll_loop", limit=3)(func) is func
        assert len(unroll_loop(func, limit=4).body) == 4


class TestRegions:
    def regions(self, body: str) -> tuple[list[str], list[str]]:
        import textwrap

        lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 12)
        func = infer_regions(
            program(
                'def f(A: T.Buffer((8, 16), "int32"), B: T.Buffer((8, 16), "int32"), C: T.Buffer((8,), "int32")):\n'
                "    for i, j in T.grid(8, 4):\n"
                '        with T.block("b"):\n'
                '            vi, vj = T.axis.remap("SS", [i, j])\n' + lines + "\n"
            )
        )
        block = next(node for node in walk(func) if type(node) is Block and node.name == "b")
        assert infer_regions(func) is func
        assert block.reads is not None
        assert block.writes is not None
        return [r.script(fragment=True).strip() for r in block.reads], [
            r.script(fragment=True).strip() for r in block.writes
        ]

    def test_points_and_boxes(self) -> None:
        assert self.regions("B[vi, vj] = A[vi, vj * 4 + 3]") == (["A[vi, vj * 4 + 3]"], ["B[vi, vj]"])
        assert self.regions("for k in range(4):\n    B[vi, vj * 4 + k] = A[7 - vi, 3 - k]") == (
            ["A[7 - vi, 0:4]"],
            ["B[vi, vj * 4 : vj * 4 + 4]"],
        )

    def test_unions_and_unknowns(self) -> None:
        assert self.regions("B[vi, vj] = A[vi, vj] + A[vi, vj + 2] + A[C[vi], 0]") == (
            ["A[0:8, 0:16]", "C[vi]"],
            ["B[vi, vj]"],
        )
        assert self.regions("B[vi, vj] = A[vi, vj] + A[vi, vj + 2]") == (["A[vi, vj : vj + 3]"], ["B[vi, vj]"])

    def test_divisions_take_constant_bounds(self) -> None:
        assert self.regions("for k in range(8):\n    B[vi, vj] = A[k // 4, k % 4]") == (["A[0:2, 0:4]"], ["B[vi, vj]"])

    def test_own_buffers_scalars_and_the_reduction_itself_are_left_out(self) -> None:
        assert self.regions('x: T.int32 = 0\nx = x + 1\nD = T.alloc_buffer((1,), "int32")\nD[0] = x\nC[vi] = D[0]') == (
            [],
            ["C[vi]"],
        )
        func = infer_regions(
            program("""
        def f(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8,), "int32")):
            for i, k in T.grid(8, 8):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vk]
        """)
        )
        (block,) = [node for node in walk(func) if type(node) is Block]
        assert [r.buffer.name for r in block.reads or ()] == ["A"]
        assert [r.buffer.name for r in block.writes or ()] == ["C"]

    def test_matched_regions_and_declared_inner_blocks(self) -> None:
        assert self.regions('X = T.match_buffer(A[vi, 0:4], (4,), "int32")\nC[vi] = X[2]') == (
            ["A[vi, 0:4]"],
            ["C[vi]"],
        )
        assert self.regions(
            'with T.block("inner"):\n    T.reads(A[vi, 0:2])\n    T.writes(C[vi])\n    C[vi] = A[vi, 1]'
        ) == (["A[vi, 0:2]"], ["C[vi]"])

    def test_addresses_are_read_and_written_whole(self) -> None:
        assert self.regions('T.evaluate(T.call_extern("int32", "g", A.data))') == (["A[0:8, 0:16]"], ["A[0:8, 0:16]"])

    def test_what_is_declared_stays(self) -> None:
        assert self.regions("T.reads(A[0:8, 0:16])\nB[vi, vj] = A[vi, vj]") == (["A[0:8, 0:16]"], ["B[vi, vj]"])


def test_an_if_stands_where_the_predicate_was() -> None:
    func = lower_blocks(
        program(
            """
    def f(B: T.Buffer((3,), "int32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(3, i)
                T.where(i < 3)
                B[v] = i
    """.replace("= i\n", "= v\n")
        )
    )
    assert [type(node) for node in walk(func) if type(node) in (If, Block)] == [If]
