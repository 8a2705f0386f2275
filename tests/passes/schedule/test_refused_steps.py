"""Steps that are refused, with their reasons in goldens that were read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.schedule_kernels import (
    any_matmul,
    backwards,
    blur,
    chain,
    corner,
    narrow,
    padded,
    relu_matmul,
    tiled,
    tiled_apart,
    total,
    widened,
)

from tirscript.passes.schedule import Schedule, ScheduleError

REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "parallel over a reduction": (total, lambda s: s.parallel("k"), "runs over the reduction axis `vk`"),
    "vectorize a reduction": (relu_matmul, lambda s: s.vectorize("k"), "cannot be vectorized"),
    "inline a reduction": (relu_matmul, lambda s: s.compute_inline("C"), "is a reduction"),
    "inline an output": (chain, lambda s: s.compute_inline("D"), "is seen outside of the function"),
    "inline what nothing reads": (chain, lambda s: s.reverse_compute_inline("B"), "nothing that `B` reads"),
    "compute at a loop without the reader": (
        chain,
        lambda s: s.compute_at("B", s.get_loops("D")[0]),
        "is not in the loop",
    ),
    "compute where it is": (chain, lambda s: s.compute_at("B", s.get_loops("B")[0]), "is in the loop `i` already"),
    "finish in the reduction": (relu_matmul, lambda s: s.reverse_compute_at("D", "k"), "finishes no element"),
    "begin in the reduction": (
        relu_matmul,
        lambda s: (s.reorder(*s.get_loops("C")[::-1]), s.decompose_reduction("C", s.get_loops("C")[1])),
        "would begin the reduction anew",
    ),
    "no init": (chain, lambda s: s.decompose_reduction("B", s.get_loops("B")[0]), "has no T.init"),
    "rfactor a spatial loop": (relu_matmul, lambda s: s.rfactor(s.get_loops("C")[0]), "not over the reduction"),
    "map that collides": (
        relu_matmul,
        lambda s: s.transform_layout("C", "C", lambda i, j: (i // 2, j)),
        "both go to (1, 0)",
    ),
    "map of other rank": (relu_matmul, lambda s: s.transform_layout("C", "C", lambda i: i), "takes 1 index"),
    "cache of what is not read": (chain, lambda s: s.cache_read("B", "C", "local"), "reads no `C`"),
    "scope of a parameter": (chain, lambda s: s.set_scope("D", 0, "local"), "is not allocated in the function"),
    "fuse with a step": (chain, lambda s: s.split("nothing", [1]), "has no loop named `nothing`"),
    "lengths that are too many": (total, lambda s: s.loop_partition("k", [20, 20]), "make 40 iterations"),
    "lengths with none left": (
        total,
        lambda s: s.loop_partition("k", [31, None]),
        "the length -1 is not proved to be 1 or more",
    ),
    "axes that are none": (chain, lambda s: s.reorder_block_iter_var("B", [0, 2]), "has 2 axes"),
    "sequence of what is read again": (
        blur,
        lambda s: s.sequential_buffer_access("C", "B"),
        "accesses `B` at several elements",
    ),
    "sequence of a part": (
        relu_matmul,
        lambda s: (
            s.loop_partition(s.get_loops("D")[0], [10, None]),
            s.sequential_buffer_access("D", "C"),
        ),
        "access all of `C`",
    ),
    "merge what is not yet made": (
        backwards,
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]),
        "is read after it was written",
    ),
    "merge loops of other ranges": (
        blur,
        lambda s: s.merge(s.loop_partition(s.get_loops("B")[0], [2, 32])[1], s.get_loops("C")[0]),
        "cannot be one",
    ),
    "merge a reduction with its reader": (
        relu_matmul,
        lambda s: (s.reorder(*s.get_loops("C")[::-1]), s.merge(s.get_loops("C")[1], s.get_loops("D")[0])),
        "are not nested as deep as each other",
    ),
    "merge loops that others stand between": (
        chain,
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("D")[0]),
        "what stands before the loop `i` is not known to leave alone what it uses",
    ),
    "merge a loop that is not alone": (
        chain,
        lambda s: (s.compute_at("B", s.get_loops("C")[0]), s.merge(s.get_loops("B")[1], s.get_loops("D")[1])),
        "is not nested alone in loops",
    ),
    "epilogue that combines otherwise": (
        relu_matmul,
        lambda s: s.fuse_reduction_epilogue("C", "D"),
        "does not combine the result as `C` does, by `add`",
    ),
    "copy by a map that collides": (
        relu_matmul,
        lambda s: s.reindex_cache_read("C", "B", "local", lambda i, j, k: (j // 4, k)),
        "different axes at different elements",
    ),
    "copy by a map of other axes": (
        relu_matmul,
        lambda s: s.reindex_cache_write("C", 0, "local", lambda i, j, k: (i, j, k)),
        "it is not proved that `C` has different axes at different elements",
    ),
    "copy in place of what is only read": (chain, lambda s: s.cache_inplace("B", "A", "local"), "does not write it"),
    "tile of no axis": (relu_matmul, lambda s: s.tile("C", {"vx": 8}), "no axis or loop of the name 'vx'"),
    "tile of a loop twice": (relu_matmul, lambda s: s.tile("C", {"vi": 8, "i": 8}), "names the loop `i` twice"),
    "early cast of what is read as it is": (
        relu_matmul,
        lambda s: s.early_cast(s.cache_read("C", "A", "local")),
        "`A_local` is read without being converted",
    ),
    "early cast of a parameter": (widened, lambda s: s.early_cast("C"), "`C` is not allocated in the function"),
    "least magnitude of a parameter": (
        narrow,
        lambda s: s.least_magnitude("D", [6, 0]),
        "no buffer of bfloat16 that is",
    ),
    "least magnitude of panels that do not divide": (
        narrow,
        lambda s: s.least_magnitude(s.cache_read("C", "B", "local"), [3, 0]),
        "a panel is a number that divides its dimension",
    ),
    "least magnitude of each number": (
        narrow,
        lambda s: s.least_magnitude(s.cache_read("C", "B", "local"), [1, 1]),
        "that is no panel",
    ),
    "least magnitude of part of a panel": (
        narrow,
        lambda s: (
            s.cache_read("C", "A", "local"),
            s.compute_at("A_local", s.get_loops("C")[0]),
            s.least_magnitude("A_local", [3, 0]),
        ),
        "do not store whole panels of `A_local`",
    ),
    "denormals in panels that are too small": (
        narrow,
        lambda s: tiled_apart(s, (1, 2)),
        "an iteration of `j_0` reads several panels",
    ),
    "denormals of another product": (
        narrow,
        lambda s: s.denormals_apart(s.get_loops("C")[0], "C", "C"),
        "does not stand before the loop",
    ),
    "denormals of products of others": (
        relu_matmul,
        lambda s: s.denormals_apart(s.get_loops("C")[0], "C", "C"),
        "are 0 sums of products of bfloat16 that begin with 0, not one",
    ),
    "denormals that were not looked for": (
        narrow,
        lambda s: (
            copy := s.cache_read("C", "A", "local"),
            s.denormals_apart(s.get_loops("C")[1], copy, copy),
        ),
        "is not as `least_magnitude` makes blocks",
    ),
    "specialize without a condition": (
        relu_matmul,
        lambda s: (s.reverse_compute_at("D", s.get_loops("C")[0]), s.specialize(s.get_loops("D")[1], 1)),
        "no condition of the blocks in the loop `ax0` says that none of its iterations from 1 on run",
    ),
    "specialize for all": (
        any_matmul,
        lambda s: s.specialize(tiled(s), 4),
        "it is at least 1 and less than 4, the iterations of the loop",
    ),
    "specialize what stands in no loop": (
        relu_matmul,
        lambda s: s.specialize(s.get_loops("D")[0], 4),
        "stands in no other loop",
    ),
    "lanes that do not divide": (
        relu_matmul,
        lambda s: s.vectorize_inner("D", 8),
        "8 lanes do not divide the iterations of `j`",
    ),
    "lanes of a reduction": (relu_matmul, lambda s: s.vectorize_inner("C", 8), "runs over the reduction axis"),
    "pack what is read again": (blur, lambda s: s.pack("C", "B"), "at several elements"),
    "no padding": (chain, lambda s: s.decompose_padding("B", s.get_loops("B")[0]), "does not store `T.if_then_else"),
    "padding made again": (
        padded,
        lambda s: (
            s.parallel(s.add_unit_loop(s.get_loops("P")[0])),
            s.decompose_padding("P", s.get_loops("P")[1]),
        ),
        "makes the same elements again",
    ),
    "padding of one factor": (corner, lambda s: s.pad_einsum("S", [8]), "not accessed at plain axes"),
    "padding of what is no sum": (chain, lambda s: s.pad_einsum("B", [8, 8]), "is no sum"),
    "padding of other axes": (relu_matmul, lambda s: s.pad_einsum("C", [8]), "not 3 numbers"),
    "reindex what it reads in part": (
        padded,
        lambda s: s.reindex("P", ("read", "A")),
        "is not proved to lie in it for all values of the axes",
    ),
    "reindex what holds blocks": (
        relu_matmul,
        lambda s: s.reindex(s.blockize(s.get_loops("C")[1]), ("read", "B")),
        "accesses `B` at several elements",
    ),
    "blockize what comes again": (
        blur,
        lambda s: (s.compute_at("B", s.split(s.get_loops("C")[0], [None, 8])[0]), s.blockize(["B", "C"])),
        "takes the same values in several iterations",
    ),
    "blockize blocks apart": (chain, lambda s: s.blockize(["B", "D"]), "stands between the blocks"),
    "dtype that is none": (chain, lambda s: s.unsafe_set_dtype("B", 0, "int33"), "int33"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case: str, golden: Any) -> None:
    kernel, step, words = REFUSALS[case]
    schedule = Schedule(kernel)
    with pytest.raises(ScheduleError) as caught:
        step(schedule)
    text = str(caught.value).strip()
    assert words in text
    golden.check_text(re.sub(r"schedule of \w+", "schedule", text) + "\n")
