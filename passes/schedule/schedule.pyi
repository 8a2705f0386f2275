"""Schedules: a program transformed step by step.

    sch = tirscript.Schedule(matmul)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, 8])
    print(sch.func)

Each step takes blocks and loops by handle or by name, leaves a valid program that means the same, or is refused with a
`ScheduleError` and changes nothing. The primitives are the functions of the table `PRIMITIVES`.


Written by `.ci/stubs.py` from the table of primitives; `make stubs` writes it again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.module import Module

from .primitive import BlockHandle, LoopHandle
from .refusal import ScheduleError
from .trace import Mark, Trace

__all__ = ["Schedule", "ScheduleError"]

class Schedule:
    """A module or function under transformation.

    Names of blocks and loops are of the only function, of "main", or of the one that `work_on` says. With `verify` the
    verifier checks the program after each step (always in tests); what it finds is a fault of the
    primitive. `seed` makes what the samplers draw repeatable.

    Blocks of one name in a function get numbers behind it, `C`, `C_1`, so that every block has a name of its own.
    """

    def __init__(self, program: PrimFunc | Module, *, seed: int | None = None, verify: bool | None = None) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    @property
    def func(self) -> PrimFunc:
        """The function that the schedule works on, as it is now."""

    @property
    def mod(self) -> Module:
        """The module as it is now; a function alone is in a module of its own."""

    def work_on(self, func_name: str) -> None:
        """Take names of blocks and loops to be of the function of that name from now on."""

    def get(self, handle: object) -> Any:
        """The statement that a handle stands for now, or a number that was drawn; ScheduleError where there is none."""

    @property
    def trace(self) -> Trace:
        """The steps so far, as a program that can be printed, saved, edited and replayed."""

    def undo(self) -> None:
        """Take the last step that changed the program back, and the steps after it; T504 where there is none."""

    def mark(self) -> Mark:
        """The state as it is now, for `reset`."""

    def reset(self, mark: Mark) -> None:
        """Take all steps since `mark` back; handles from before are good again. T504 where the steps before it are not
        those of this schedule, as after `undo` further back.
        """

    def diff(self, *, context: int = 3) -> str:
        """The last step that changed the program as a unified source diff; empty where there is none."""

    def copy(self) -> Schedule:
        """A schedule of the same state that goes on by itself; the handles of this one are good for it."""

    def script(self, **options: Any) -> str:
        """The program as source text; the options are those of `tirscript.printer.script`."""

    def show(self, **options: Any) -> None:
        """Print the program, highlighted where the output is a terminal."""

    def __str__(self) -> str:
        """Return str(self)."""

    @property
    def random(self) -> Any:
        """The generator of random numbers that the samplers draw from."""

    def add_unit_loop(self, block_or_loop: BlockHandle | str | LoopHandle) -> LoopHandle:
        """Put a loop of one iteration around a block or loop; the new loop."""

    def annotate(self, block_or_loop: BlockHandle | str | LoopHandle, ann_key: str, ann_val: Any) -> None:
        """Set an annotation of a block or loop, in place of one of the same name."""

    def bind(self, loop: LoopHandle | str, thread_axis: str) -> None:
        """Run the iterations of a loop as threads: `for i in T.thread_binding(n, thread="threadIdx.x")`.

        A loop over a reduction is bound to a `threadIdx` of one block of threads, which combine what each has reduced.
        """

    def blocked_scan(self, loop: LoopHandle | str, lanes: int) -> None:
        """Compute a scan in pieces of so many lanes, each by itself, to which the sum of all before is added.

        before:                                    after `blocked_scan("k", 2)`:
            for k in range(9):                         with T.block("B"):
                with T.block("B"):                         carry[0] = 0
                    vk = T.axis.scan(9, k)                 for k_0 in range(4):
                    B[vk] = T.if_then_else(                    piece[0:2] = A[k_0 * 2 : k_0 * 2 + 2]
                        vk == 0, 0, B[vk - 1]                  piece[0:2] = piece[0:2] + (0, piece[0])
                    ) + A[vk]                                  B[k_0 * 2 : k_0 * 2 + 2] = carry[0] + piece[0:2]
                                                               carry[0] = carry[0] + piece[1]
                                                           carry[0] = carry[0] + A[8]
                                                           B[8] = carry[0]

        The lanes of a piece are combined in steps of 1, 2, 4, ... (Hillis and Steele 1986). The combiner must be known to
        be commutative and associative: sums of floats are rounded in another order, with fewer roundings in a chain, and
        it depends on the order what of a nan and a number is the greater.
        """

    def blockize(
        self, target: LoopHandle | str | Sequence[BlockHandle | str], preserve_unit_iters: bool = True
    ) -> BlockHandle:
        """Make one block of a loop and all in it, or of neighbouring blocks; the new block.

        before:                                    after `blockize("i1")`:
            for i0, i1 in T.grid(4, 8):                for i0 in range(4):
                with T.block("B"):                         with T.block("B_o"):
                    vi = T.axis.spatial(32, i0 * 8 + i1)       vi_o = T.axis.spatial(4, i0)
                    B[vi] = A[vi] + 1                          for i1 in range(8):
                                                                   with T.block("B"):
                                                                       vi_i = T.axis.spatial(8, i1)
                                                                       B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i] + 1

        Blocks are given as a list; the statements that hold them must follow each other. The init of a reduction becomes
        that of the new block. `preserve_unit_iters` keeps axes of one value for what is all inside.
        """

    def cache_inplace(
        self, block: BlockHandle | str, read_buffer_index: int | str, storage_scope: str
    ) -> list[BlockHandle]:
        """Copy a buffer that a block reads and writes, let it work on the copy, and copy it back; both copying blocks.

        before:                                    after `cache_inplace("A", 0, "local")`:
            with T.block("A"):                         with T.block("A_local"):
                A[vi] = A[vi] * 2.0                        A_local[v0] = A[v0]
                                                       with T.block("A"):
                                                           A_local[vi] = A_local[vi] * 2.0
                                                       with T.block("A_back"):
                                                           A[v0] = A_local[v0]

        The whole buffer is copied, before and behind the loops of the block.
        """

    def cache_read(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockHandle | str] | None = None,
    ) -> BlockHandle:
        """Copy a buffer that a block reads, and let the block and the other readers read the copy; the block that copies.

        before:                                    after `cache_read("B", 0, "local")`:
            with T.block("B"):                         A_local = T.alloc_buffer((8,), scope="local")
                B[vi] = A[vi] + 1.0                    with T.block("A_local"):
                                                           A_local[v0] = A[v0]
                                                       with T.block("B"):
                                                           B[vi] = A_local[vi] + 1.0

        The buffer is named or counted among those that the block reads. `consumer_blocks` says which readers change, the
        block itself only where it is one of them; all of them where it is not given. The whole buffer is copied; compute_at
        makes the copy as small as its reader needs. In a block of blocks, only what they read is copied of what is made
        outside of it; where a loop is around both who writes the buffer and who reads it, what an iteration reads.
        """

    def cache_write(
        self,
        block: BlockHandle | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockHandle | str] | None = None,
    ) -> BlockHandle:
        """Let a block write to a buffer of its own, which is copied to the old one behind it; the block that copies.

        before:                                    after `cache_write("B", 0, "local")`:
            with T.block("B"):                         B_local = T.alloc_buffer((8,), scope="local")
                B[vi] = A[vi] + 1.0                    with T.block("B"):
                                                           B_local[vi] = A[vi] + 1.0
                                                       with T.block("B_local"):
                                                           B[v0] = B_local[v0]

        The buffer is named or counted among those that the block writes. `consumer_blocks` are readers that read the new
        buffer instead.
        """

    def can_decompose_padding(self, block: BlockHandle | str, loop: LoopHandle | str) -> bool:
        """Whether decompose_padding takes the block and loop. Nothing is changed."""

    def compute_at(
        self, block: BlockHandle | str, loop: LoopHandle | str | int, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a block into a loop around the blocks that read what it makes: each iteration makes what it needs.

        before:                                    after `compute_at("B", "i")`:
            for i, j in T.grid(8, 8):                  for i in range(8):
                with T.block("B"):                         for ax0 in range(8):
                    vi, vj = T.axis.remap(...)                 with T.block("B"):
                    B[vi, vj] = A[vi, vj] * 2.0                    vi = T.axis.spatial(8, i)
            for i, j in T.grid(8, 8):                              vj = T.axis.spatial(8, ax0)
                with T.block("C"):                                 B[vi, vj] = A[vi, vj] * 2.0
                    vi, vj = T.axis.remap(...)             for j in range(8):
                    C[vi, vj] = B[vi, vj] + 1.0                with T.block("C"): ...

        Elements that several iterations need are made again in each. `index` is where among the loop's statements the
        block comes: -1 right before its first reader, else that position. `preserve_unit_loops` keeps loops of one
        iteration. In place of a loop -1 lets the block stay where it is, and -2 inlines it: what sample_compute_location
        gives.
        """

    def compute_inline(self, block: BlockHandle | str) -> None:
        """Put the value that a block stores into the blocks that read it, and take the block and its buffer away.

        before:                                    after `compute_inline("B")`:
            with T.block("B"):                         with T.block("C"):
                vi = T.axis.spatial(8, i)                  vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * 2.0                        C[vi] = A[vi] * 2.0 + 1.0
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + 1.0
        """

    def contract(self, block: BlockHandle | str) -> None:
        """Fuse the products in a block with the sums they go into, so that they are rounded once.

        before:                                    after `contract("C_update")`:
            C[vi] = C[vi] + A[vi] * B[vi]              C[vi] = T.fma(A[vi], B[vi], C[vi])

        A sum of two products goes into the result one by one. The results change in their last bits, in the interpreter as
        in native code. A reduction is no longer seen as a sum afterwards: `rfactor`, `decompose_reduction` and `tensorize`
        come first. Refused where there is nothing to fuse.
        """

    def decompose_padding(self, block: BlockHandle | str, loop: LoopHandle | str) -> BlockHandle:
        """Fill a padded buffer with its padding right before a loop, and let the block store the rest; the filling block.

        before:                                    after `decompose_padding("P", "i")`:
            for i in range(10):                        for i in range(10):
                with T.block("P"):                         with T.block("P_pad"):
                    vi = T.axis.spatial(10, i)                 vi = T.axis.spatial(10, i)
                    P[vi] = T.if_then_else(                    P[vi] = 0.0
                        vi >= 1 and vi < 9,            for i in range(10):
                        A[vi - 1], 0.0)                    with T.block("P"):
                                                               vi = T.axis.spatial(10, i)
                                                               T.where(i >= 1 and i < 9)
                                                               P[vi] = A[vi - 1]

        The block stores `T.if_then_else(condition, value, padding)`, where the padding is a number. The filling can be
        vectorized, and the loop over the rest cut to what is not padded.
        """

    def decompose_reduction(self, block: BlockHandle | str, loop: LoopHandle | str) -> BlockHandle:
        """Make the init of a reduction a block of its own, right before a loop around it; the new block.

        before:                                after `decompose_reduction("C", "k")`:
            for i, k in T.grid(4, 8):              for i in range(4):
                with T.block("C"):                     with T.block("C_init"):
                    vi, vk = T.axis.remap(...)             vi = T.axis.spatial(4, i)
                    with T.init():                         C[vi] = 0.0
                        C[vi] = 0.0                    for k in range(8):
                    C[vi] += A[vi, vk]                     with T.block("C_update"):
                                                               vi, vk = T.axis.remap("SR", [i, k])
                                                               C[vi] += A[vi, vk]

        Refused where a loop outside of the given one runs over the reduction, since the init would then come again; where
        the loops inside come to a point of the axes again, since it has to; and where something besides the block touches
        the result: another block in the loop, a condition, how far a loop runs.
        """

    def denormals_apart(
        self, loop: LoopHandle | str, left: BlockHandle | str, right: BlockHandle | str
    ) -> list[BlockHandle]:
        """Run what is in a loop as it stands where nothing denormal can come up in the products of a block in it, and a
        copy of it elsewhere; the blocks of the copy.

        before:                                    after `denormals_apart("i", "X_least", "Y_least")`:
            for i in range(8):                         for i in range(8):
                for k in range(64):                        if ... X_least[i] ... Y_least[0] ...:
                    with T.block("C"):                         for k in range(64):
                        vi, vk = ...                               with T.block("C"): ...
                        C[vi] += (                             for j in range(4):
                            T.cast(X[vi, vk], "float32")           with T.block("D"): ...
                            * T.cast(Y[0, vk], "float32")      else:
                        )                                          for k in range(64):
                for j in range(4):                                     with T.block("C_1"): ...
                    with T.block("D"): ...                         for j in range(4):
                                                                       with T.block("D_1"): ...

        `left` and `right` are blocks of `least_magnitude` for the operands. So the products can be done by an instruction
        that takes denormal numbers for zero (AMX). The sum begins with 0. The copy has temporaries of its own for those
        that each iteration has a part of for itself.
        """

    def early_cast(self, block: BlockHandle | str, buffer_index: int | str = 0) -> None:
        """Convert what a block writes when it is stored, where all readers convert it to the same dtype.

        before:                                    after `early_cast("A_local")`:
            A_local = T.alloc_buffer((8,), "float16")      A_local = T.alloc_buffer((8,))
            with T.block("A_local"):                       with T.block("A_local"):
                A_local[v0] = A[v0]                            A_local[v0] = T.cast(A[v0], "float32")
            with T.block("B"):                             with T.block("B"):
                B[vi, vj] = T.cast(A_local[vi], "float32")     B[vi, vj] = A_local[vi]

        The values are the same. It pays where elements are read more often than they are stored.
        """

    def flip_signedness(self, block: BlockHandle | str, buffer_index: int | str = 0) -> BlockHandle:
        """Store what a block writes as bytes of the other sign, 128 more or less, where it is one operand of a sum of
        products; the sum begins with what makes up for that. The block that computes it.

        before:                                    after `flip_signedness("B_local")`:
            B_local = T.alloc_buffer((8, 4), "int8")   B_local = T.alloc_buffer((8, 4), "uint8")
            with T.block("B_local"):                   with T.block("B_local"):
                B_local[v0, v1] = B[v0, v1]                B_local[v0, v1] = T.reinterpret("uint8", B[v0, v1] ^ -128)
            with T.block("C"):                         with T.block("A_sum"):
                with T.init():                             with T.init():
                    C[vi, vj] = 0                              A_sum[v0] = 0
                C[vi, vj] += (                             A_sum[v0] += T.cast(A[v0, w0], "int32")
                    T.cast(A[vi, vk], "int32")         with T.block("C"):
                    * T.cast(B_local[vk, vj], "int32")     with T.init():
                )                                              C[vi, vj] = A_sum[vi] * -128
                                                           C[vi, vj] += ...

        The results are the same, as whole numbers wrap. It is for instructions that multiply bytes of different signs.
        """

    def fuse(self, *loops: LoopHandle | str, preserve_unit_iters: bool = True) -> LoopHandle:
        """Make one loop of loops that are nested in each other alone; given outermost first.

        before:                            after `fuse("i", "j")`:
            for i, j in T.grid(4, 8):          for i_j_fused in range(32):
                B[i, j] = A[i, j]                  B[i_j_fused // 8, i_j_fused % 8] = A[i_j_fused // 8, i_j_fused % 8]

        `preserve_unit_iters` of False gives the variables of loops of one iteration their only value.
        """

    def fuse_reduction_epilogue(self, reduction_block: BlockHandle | str, epilogue_block: BlockHandle | str) -> None:
        """Let a reduction begin with what its only reader combines its result with, and take the reader away.

        before:                                    after `fuse_reduction_epilogue("C", "D")`:
            with T.block("C"):                         with T.block("C"):
                with T.init():                             with T.init():
                    C[vi] = 0.0                                D[vi] = bias[vi]
                C[vi] = C[vi] + A[vi, vk]                  D[vi] = D[vi] + A[vi, vk]
            with T.block("D"):
                D[vi] = C[vi] + bias[vi]

        The epilogue must combine as the reduction does: add to a sum, take the maximum with a maximum. Sums of floats are
        rounded in another order, and with T.min and T.max of floats it depends on the order what of a nan and a number
        comes through.
        """

    def get_block(self, name: BlockHandle | str, func_name: str | None = None) -> BlockHandle:
        """The block of that name; "root" is the function itself where no block is called so."""

    def get_child_blocks(self, block_or_loop: BlockHandle | str | LoopHandle) -> list[BlockHandle]:
        """The blocks in a block or loop that stand in no other block of it, in program order."""

    def get_consumers(self, block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks of the same block or function that read what this one writes."""

    def get_loops(self, block: BlockHandle | str) -> list[LoopHandle]:
        """The loops around a block, outermost first, out to the block or function around them."""

    def get_output_blocks(self, scope_block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks in a block or function that write what outlives it."""

    def get_producers(self, block: BlockHandle | str) -> list[BlockHandle]:
        """The blocks of the same block or function that write what this one reads."""

    def get_sblock(self, name: BlockHandle | str, func_name: str | None = None) -> BlockHandle:
        """The block of that name: get_block as TVM 0.27 calls it."""

    def least_magnitude(self, block: BlockHandle | str, panels: Sequence[int]) -> BlockHandle:
        """Find the least magnitude but 0 in panels of the bfloat16 numbers that a block stores, behind its loops; the block
        that does.

        before:                                    after `least_magnitude("B", [4, 0])`:
            for i, j in T.grid(8, 6):                  for i, j in T.grid(8, 6):
                with T.block("B"):                         with T.block("B"): ...
                    B[vi, vj] = A[vi, vj]              for p0, r0, r1 in T.grid(2, 4, 6):
                                                           with T.block("B_least"):
                                                               v0, w0, w1 = T.axis.remap("SRR", [p0, r0, r1])
                                                               with T.init():
                                                                   B_least[v0] = T.uint16(65535)
                                                               bits = T.reinterpret("uint16", B[v0 * 4 + w0, w1])
                                                               B_least[v0] = T.min(B_least[v0], bits * 2 - 1)

        `panels` has a number for each dimension: how many elements are looked at together, 0 for all of them. The least
        magnitude is told as the number that it is in its sign and digits, times 2, less 1; where all are 0, as 65535.
        """

    def loop_partition(
        self, loop: LoopHandle | str, factors: Sequence[int | Expr | None], preserve_unit_iters: bool = True
    ) -> list[LoopHandle]:
        """Cut a loop into loops that run one after the other, of the given lengths; one may be None and is worked out.

        before:                            after `loop_partition("i", [2, None])`:
            for i in range(30):                for i_0 in range(2):
                with T.block("B"): ...             with T.block("B"): ...
                                               for i_1 in range(2, 30):
                                                   with T.block("B_1"): ...

        A length may be an expression of what is known before the loop; where that may be 0, the loop reduces nothing.
        The blocks in the later loops get names of their own. The parts can be scheduled apart, as where the first and the
        last iterations need a condition that the others do not: what is proved to hold throughout a part is not asked
        there. `preserve_unit_iters` of False gives the variables of loops of one iteration their only value.
        """

    def merge(self, *loops: LoopHandle | str) -> LoopHandle:
        """Make one loop of loops of one range that stand behind each other: each iteration does one of each; the new loop.

        before:                            after `merge("i", "j")`:
            for i in range(8):                 for i_j_m in range(8):
                with T.block("B"): ...             with T.block("B"): ...
            for j in range(8):                     with T.block("C"): ...
                with T.block("C"): ...

        Loops that are nested alone in others, as deep as each other, merge with those, outermost first. Refused where an
        iteration of a later loop would use what an earlier loop has not yet made. The new loop stands where the first did:
        what stands between them may not touch what a later loop uses.
        """

    def pack(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        storage_scope: str = "global",
        loop: LoopHandle | str | None = None,
    ) -> BlockHandle:
        """Copy a buffer that a block reads into the order in which the block goes through it; the block that copies.

        before:                                    after `pack("C", "B")`:
            for i, j_0, k, j_1 in ...:                 for ax0, ax1 in T.grid(64, 64):
                with T.block("C"):                         with T.block("B_global"):
                    C[vi, vj] += A[vi, vk] * B[vk, vj]         B_global[v1 // 16, v0, v1 % 16] = B[v0, v1]
                                                       for i, j_0, k, j_1 in ...:
                                                           with T.block("C"):
                                                               C[vi, vj] += A[vi, vk] * B_global[vj // 16, vk, vj % 16]

        The copy is made before all loops, or at the begin of each iteration of `loop`. It is cache_read,
        sequential_buffer_access and compute_at.
        """

    def pad_einsum(self, block: BlockHandle | str, padding: Sequence[int]) -> None:
        """Round the axes of a sum of products up to multiples of numbers, one for each axis, with zeros in padded copies.

        before:                                    after `pad_einsum("C", [1, 1, 8])` where k was 30:
            for i, j, k in T.grid(32, 32, 30):         with T.block("A_pad"):
                with T.block("C"):                         A_pad[v0, v1] = T.if_then_else(v1 < 30, A[v0, v1], 0.0)
                    vi, vj, vk = ...                   with T.block("B_pad"): ...
                    C[vi, vj] += A[vi, vk] * B[vk, vj] for i, j, k in T.grid(32, 32, 32):
                                                           with T.block("C"):
                                                               C[vi, vj] += A_pad[vi, vk] * B_pad[vk, vj]

        The factors are elements at plain axes of the block, cast or not; those that no padded axis has to do with may be
        anywhere, and an index such as `x * 2 + u` may step along a padded axis: the copy then holds as much more as the
        steps beyond its end reach. A result with padded axes is made in a copy, which is cut to its size behind the block.
        Refused where a padded reduction axis of floats is not in every factor, since what is there may be infinite, and 0
        times infinity is no zero. Where no reduction axis is padded, the block may reduce any values of such elements, in
        any way.
        """

    def parallel(self, loop: LoopHandle | str) -> None:
        """Run the iterations of a loop at once: `for i in T.parallel(n)`.

        Where iterations only share a buffer that each of them fills anew, each gets one of its own: its allocation moves
        into the loop. Refused where one iteration depends on another, a reduction over the loop among them.
        """

    def parallel_scan(self, loop: LoopHandle | str, lanes: int, parts: int, size: int) -> None:
        """Compute a scan in blocks of so many parts: their sums in parallel, what comes before each, and then their scans.

        before:                                    after `parallel_scan("k", 16, 8, 512)`:
            for k in range(5000):                      with T.block("B"):
                with T.block("B"):                         carry[0] = 0
                    vk = T.axis.scan(5000, k)              for block in range(1):
                    B[vk] = T.if_then_else(                    for part in T.parallel(8):
                        vk == 0, 0, B[vk - 1]                      total[part] = sum of A[block * 4096 + part * 512 : ...]
                    ) + A[vk]                                  for part in range(8):
                                                                   before[part] = carry[0]
                                                                   carry[0] = carry[0] + total[part]
                                                               for part in T.parallel(8):
                                                                   own[0] = before[part]
                                                                   as blocked_scan does, `size` elements with `own`
                                                           as blocked_scan does, 904 elements with `carry`

        A block has `parts` times `size` elements and is read twice, the second time from the caches if it fits them, while
        the next block is prefetched; what is left after the last block is computed by one thread. The result does not
        depend on the number of threads. The combiner must be known to be commutative and associative: sums of floats are
        rounded in another order (Blelloch 1990, "Prefix sums and their applications").
        """

    def precompute(self, block: BlockHandle | str, axes: Sequence[int]) -> list[BlockHandle]:
        """Make what a block computes of some of its axes alone before it, once for all others; the blocks that make it.

        before:                                           after `precompute("C", [0, 2])`:
            with T.block("C"):                                with T.block("C_part"):
                C[vi, vj] += T.exp(A[vi, vk]) * B[vk, vj]         C_part[v0, v1] = T.exp(A[v0, v1])
                                                              with T.block("C"):
                                                                  C[vi, vj] += C_part[vi, vk] * B[vk, vj]

        The axes are counted from 0. What is made is each largest part of the stored value that uses all of these axes and
        no others. Refused where there is none, or one that is computed under a condition of the others and not known to be
        harmless without.
        """

    def prefetch(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        loop: LoopHandle | str,
        ahead: int = 1,
        locality: int = 3,
    ) -> None:
        """Bring near what a block will read of a buffer `ahead` iterations of a loop later, a piece with each run of the
        block's innermost loop.

        before:                                    after `prefetch("B", "A", "i")`:
            for i, j in T.grid(8, 4):                  for i, j in T.grid(8, 4):
                for k in range(32):                        for line in range(2):
                    with T.block("B"):                         T.prefetch(T.address_of(A[T.min(i + 1, 7), ...]))
                        B[vi, vj] = A[vi, vj] + 1          for k in range(32):
                                                               with T.block("B"):
                                                                   B[vi, vj] = A[vi, vj] + 1

        After the last iteration of `loop` comes the first one of the loop around it, if that reads elsewhere in the buffer.

        The results stay what they are. It is for loops whose iterations compute long on what is in the cache already, so
        that memory waits meanwhile. `locality` is that of `T.prefetch`: 3 for the nearest cache, 0 for the farthest. The
        block reads the buffer along memory or not at all by the innermost loop. Of places that differ by constants, as in
        a stencil, the one with the greatest indices counts, which is read before the others. A row that is looked up,
        `A[at[vi], vj]`, is brought near if each iteration looks one up, and nothing in the loops changes `at`.
        """

    def privatize(self, loop: LoopHandle | str, parts: int, lanes: int = 1, least: int = 0) -> LoopHandle:
        """Do the updates of a loop in so many parts, each in a copy of its own, which are combined; the loop of the parts.

        before:                                    after `privatize("i", 4)`:
            for i in range(100):                       for i_0 in range(4):
                H[A[i]] = H[A[i]] + 1                      for h in range(8):
                                                               with T.block("H_begin"):
                                                                   H_own[h] = 0
                                                           for i in range(i_0 * 25, (i_0 + 1) * 25):
                                                               H_own[A[i]] = H_own[A[i]] + 1
                                                           for h in range(8):
                                                               with T.block("H_part"):
                                                                   H_parts[i_0, h] = H_own[h]
                                                       for i_0, h in T.grid(4, 8):
                                                           with T.block("H_combine"):
                                                               H[h] = H_parts[i_0, h] + H[h]

        In a part, consecutive iterations of the innermost loops take turns with `lanes` copies, so that an update need not
        wait for the one before, which went to the same element. A loop of fewer iterations than `least` is left as it is,
        which is decided when it runs. The loop does nothing else than updates `X[..] = X[..] op value`, of one or several
        buffers, under any conditions and at any places; X keeps what it held before. The combiner must be known to be
        commutative and associative: sums of floats are rounded in another order, which `parts` and `lanes` alone decide,
        and with T.min and T.max of floats it depends on the order what of a nan and a number comes through.
        """

    def read_at(
        self, loop: LoopHandle | str, block: BlockHandle | str, read_buffer_index: int | str, storage_scope: str
    ) -> BlockHandle:
        """Copy what a block reads of a buffer in one iteration of a loop, at its begin; the block that copies.

        before:                                    after `read_at("i", "B", 0, "local")`:
            for i, j in T.grid(8, 8):                  for i in range(8):
                with T.block("B"):                         for ax0 in range(8):
                    B[vi, vj] = A[vi, vj] + 1                  with T.block("A_local"):
                                                                   A_local[v0, v1] = A[v0, v1]
                                                           for j in range(8):
                                                               with T.block("B"):
                                                                   B[vi, vj] = A_local[vi, vj] + 1

        It is cache_read, of this one reader, and compute_at.
        """

    def reduce_apart(self, block: BlockHandle | str) -> BlockHandle:
        """Let a reduction without a T.init work in a buffer of its own, which begins with what is there; the block that
        stores the results.

        before:                                    after `reduce_apart("C")`:
            for i, k in T.grid(4, 8):                  for i, k in T.grid(4, 8):
                with T.block("C"):                         with T.block("C"):
                    vi, vk = ...                               vi, vk = ...
                    C[vi] = C[vi] + A[vi, vk]                  with T.init():
                                                                   C_own[vi] = C[vi]
                                                               C_own[vi] = C_own[vi] + A[vi, vk]
                                                       for i in range(4):
                                                           with T.block("C_own"):
                                                               C[v0] = C_own[v0]

        A choice in each term of a sum that the axes of the reduction have no part in, `T.Select(vi < n, A[vi, vk], -0.0)`,
        is made once for the result instead. The results are the same bits. Refused where the result is not indexed by each
        of the block's spatial axes, to which a number may be added.
        """

    def reindex(self, block: BlockHandle | str, buffer: tuple[str, int | str] | str) -> BlockHandle:
        """Let a block access a copy of a buffer that is indexed by the block's axes alone; the block that copies.

        before:                                    after `reindex("C", ("read", "A"))`:
            with T.block("C"):                         with T.block("A_reindex"):
                vi, vk = ...                               A_reindex[v0, v1] = A[v0 + v1]
                C[vi] += A[vi + vk]                    with T.block("C"):
                                                           C[vi] += A_reindex[vi, vk]

        `buffer` is a name, or ("read", which) or ("write", which), counted or by name. The block must access one element
        in each instance.
        """

    def reindex_cache_read(
        self,
        block: BlockHandle | str,
        read_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockHandle:
        """Let a block read a copy of a buffer that is laid out by its axes, as a map of them says; the block that copies.

        before:                       after `reindex_cache_read("C", "A", "local", lambda i, k: (k // 4, i, k % 4))`:
            with T.block("C"):            with T.block("A_local"):
                vi, vk = ...                  A_local[v1 // 4, v0, v1 % 4] = A[v0, v1]
                C[vi] += A[vi, vk]        with T.block("C"):
                                              C[vi] += A_local[vk // 4, vi, vk % 4]

        `index_map` takes the axes of the block to the indices of the copy, and must keep the elements that the block reads
        apart. The block must read one element in each instance.
        """

    def reindex_cache_write(
        self,
        block: BlockHandle | str,
        write_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockHandle:
        """Let a block write to a copy that is laid out by its axes, as a map of them says; the block that copies it back.

        before:                       after `reindex_cache_write("B", 0, "local", lambda i, j: (j, i))`:
            with T.block("B"):            with T.block("B"):
                vi, vj = ...                  B_local[vj, vi] = A[vi, vj]
                B[vi, vj] = A[vi, vj]     with T.block("B_local"):
                                              B[v0, v1] = B_local[v1, v0]

        `index_map` takes the axes of the block to the indices of the copy, and must keep the elements that the block writes
        apart. The block must write one element in each instance.
        """

    def reorder(self, *loops: LoopHandle | str) -> None:
        """Put loops that are nested in each other alone into the given order, outermost first; loops between them stay.

        before:                            after `reorder("j", "i")`:
            for i, j in T.grid(4, 8):          for j, i in T.grid(8, 4):
                B[i, j] = A[i, j]                  B[i, j] = A[i, j]

        Refused where an iteration would use what another one makes before it is made.
        """

    def reorder_block_iter_var(self, block: BlockHandle | str, new_order: Sequence[int]) -> None:
        """Write the axes of a block in another order; `new_order` says which of the old ones each is.

        before:                                    after `reorder_block_iter_var("B", [1, 0])`:
            with T.block("B"):                         with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])        vj, vi = T.axis.remap("SS", [j, i])
                B[vi, vj] = A[vi, vj]                      B[vi, vj] = A[vi, vj]

        The loops stay as they are, and so does what runs when.
        """

    def reverse_compute_at(
        self, block: BlockHandle | str, loop: LoopHandle | str | int, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a block into a loop around the block whose results it reads: each iteration uses what it has just made.

        before:                                    after `reverse_compute_at("C", "i")`:
            for i, j in T.grid(8, 8):                  for i in range(8):
                with T.block("B"): ...                     for j in range(8):
            for i, j in T.grid(8, 8):                          with T.block("B"): ...
                with T.block("C"): ...                     for ax0 in range(8):
                                                               with T.block("C"): ...

        `index` is where among the loop's statements the block comes: -1 right behind its last producer, else that position.
        `preserve_unit_loops` keeps loops of one iteration. What the block reads is indexed by axes, or by a one-to-one map
        of all axes to the buffer. Refused where the block would not run for all that it stores any more, and where it would
        leave a loop in which its result is changed behind it. A reduction moves where each iteration makes all that it
        combines for an element. In place of a loop -1 lets the block stay, and -2 inlines it.
        """

    def reverse_compute_inline(self, block: BlockHandle | str) -> None:
        """Let the block that makes what this one reads store its result instead, and take this block and the buffer away.

        before:                                    after `reverse_compute_inline("C")`:
            with T.block("B"):                         with T.block("B"):
                B[vi] = A[vi] * 2.0                        C[vi] = T.max(A[vi] * 2.0, 0.0)
            with T.block("C"):
                C[vi] = T.max(B[vi], 0.0)

        The block must read one element of one buffer that only another block writes, all that is read of it, at indices
        that are axes or a one-to-one map of all axes to the buffer, and store one element for each.
        """

    def rfactor(self, loop: LoopHandle | str, factor_axis: int = 0) -> BlockHandle:
        """Give each iteration of a reduction loop a partial result of its own; the block that makes them is returned.

        before:                                     after `rfactor("k0")`:
            for k0, k1 in T.grid(4, 8):                 for k0, k1 in T.grid(4, 8):
                with T.block("C"):                          with T.block("C_rf"):
                    vk = T.axis.reduce(32, k0 * 8 + k1)         vk0, vk1 = T.axis.remap("SR", [k0, k1])
                    with T.init():                              with T.init():
                        C[()] = 0.0                                 C_rf[vk0] = 0.0
                    C[()] += A[vk]                              C_rf[vk0] += A[vk0 * 8 + vk1]
                                                        for k0 in range(4):
                                                            with T.block("C"):
                                                                vk0 = T.axis.reduce(4, k0)
                                                                with T.init():
                                                                    C[()] = 0.0
                                                                C[()] += C_rf[vk0]

        The new dimension of the partial results stands at `factor_axis`. The combiner must be known to be commutative and
        associative; sums of floats are rounded in another order. The greatest or least element and where it is are such a
        reduction, too: `better = A[vk] > best[()]`, then `at[()]` and `best[()]` as `T.if_then_else(better, ...)`. Several
        sums beside each other, each of a buffer of its own, are factored together. Of equal elements the one is found that
        the block finds; of nan, where the block keeps the element unless it is the less, the order counts.
        """

    def rolling_buffer(self, block: BlockHandle | str, write_buffer_index: int | str) -> None:
        """Keep of a buffer, which a block makes in a loop of its readers, what an iteration needs; make only what is new.

        before:                                    after `rolling_buffer("B", 0)`:
            B = T.alloc_buffer((34,))                  B = T.alloc_buffer((10,))
            for i in range(4):                         for i in range(4):
                for ax0 in range(10):                      for ax0 in range(10):
                    with T.block("B"):                         with T.block("B"):
                        vi = T.axis.spatial(34, i * 8 + ax0)       vi = T.axis.scan(34, i * 8 + ax0)
                        B[vi] = A[vi] + 1.0                        T.where(i < 1 or 2 <= ax0)
                for j in range(8):                                 B[vi % 10] = A[vi] + 1.0
                    with T.block("C"): ...                 for j in range(8):
                        ... B[vi] + B[vi + 2]                  with T.block("C"): ...
                                                                   ... B[vi % 10] + B[(vi + 2) % 10]

        compute_at brings the block into the loop. The outermost loop of which an iteration makes again what the one before
        made is the one that the buffer rolls along: that dimension is stored modulo its window. Elements that the inner
        loops make again are left out as well.
        """

    def sample_categorical(self, candidates: Sequence[Any], probs: Sequence[float], decision: int | None = None) -> Any:
        """One of the candidates, drawn with the given probabilities. `decision` is the number of the one that was drawn."""

    def sample_compute_location(self, block: BlockHandle | str, decision: int | None = None) -> LoopHandle | int:
        """A loop that the block could be computed at: one around its first reader, or -1 where it stays where it is.

        `decision` is the number of the loop among those of the reader, -1 for staying, -2 for being inlined, which is not
        drawn. compute_at takes what is returned.
        """

    def sample_perfect_tile(
        self, loop: LoopHandle | str, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[int]:
        """`n` factors whose product is the extent of a loop, the last at most `max_innermost_factor`.

        All such tuples of factors are equally likely. `decision` is what was drawn; a replay gives it.
        """

    def sequential_buffer_access(self, block: BlockHandle | str, buffer: str | int | tuple[str, int | str]) -> None:
        """Lay a buffer out so that the loops around a block go through its elements one by one, as they lie in memory.

        before:                                    after `sequential_buffer_access("C", "B")`:
            B = T.alloc_buffer((64, 64))               B = T.alloc_buffer((4, 64, 16))
            for i, j0, k, j1 in ...:                   for i, j0, k, j1 in ...:
                with T.block("C"):                         with T.block("C"):
                    ... B[vk, vj]                              ... B[vj // 16, vk, vj % 16]

        It is a transform_layout to a dimension for each loop that the access depends on, outermost first. The block must
        access one element in each instance, and the loops each element once for all others. `buffer` is a name, or
        ("read", 0) or ("write", 0).
        """

    def set_scope(self, block: BlockHandle | str, buffer_index: int | str, storage_scope: str) -> None:
        """Store the buffer that a block writes, one allocated in the function, in another scope: "local", "shared"."""

    def specialize(self, loop: LoopHandle | str, size: int) -> list[BlockHandle]:
        """Where the predicates in a loop let no more than `size` iterations run, run a copy that has no more; its blocks.

        before:                                    after `specialize("ax0", 1)`:
            for i_0 in range((n + 7) // 8):            for i_0 in range((n + 7) // 8):
                for k, i_1 in T.grid(64, 8):               if i_0 * 8 + 1 < n:
                    with T.block("C"):                         for k, i_1 in T.grid(64, 8):
                        vi = ... i_0 * 8 + i_1                     with T.block("C"): ...
                        L[vi] += ...                           for ax0 in range(8):
                for ax0 in range(8):                               with T.block("D"): ...
                    with T.block("D"):                     else:
                        vi = ... i_0 * 8 + ax0                 for k, i_1 in T.grid(64, 1):
                        T.where(i_0 * 8 + ax0 < n)                 with T.block("C_1"): ...
                        D[vi] = L[vi]                          for ax0 in range(1):
                                                                   with T.block("D_1"): ...

        All that stands beside the loop is in both. Cut with it are loops beside it whose blocks make nothing but elements
        of temporaries that the iterations left out alone would read: so a tile of one row takes a row's time. The copy has
        temporaries of its own.
        """

    def split(
        self,
        loop: LoopHandle | str,
        factors: Sequence[int | Expr | None],
        *,
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopHandle]:
        """Split a loop into one loop for each factor, outermost first; one factor may be None and is worked out.

        before:                            after `split("i", [None, 4])`:
            for i in range(30):                for i_0 in range(8):
                B[i] = A[i]                        for i_1 in range(4):
                                                       if i_0 * 4 + i_1 < 30:
                                                           B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1]

        Where the factors do not divide the extent, the blocks in the loop get a predicate and other statements an `if`;
        with `disable_predication` they must divide it. `preserve_unit_iters` of False keeps the variables of loops of one
        iteration out of the values of axes.
        """

    def storage_align(
        self, block: BlockHandle | str, buffer_index: int | str, axis: int, factor: int, offset: int
    ) -> None:
        """Pad the rows of the buffer that a block writes: the stride of `axis` is a multiple of `factor`, plus `offset`.

        before:                                    after `storage_align("B", 0, axis=0, factor=8, offset=1)`:
            B = T.alloc_buffer((4, 6))                 B = T.alloc_buffer((4, 6), strides=(9, 1))

        A stride that the rows do not share with a power of two keeps them apart in banks and caches. Counted in elements.
        """

    def tensorize(
        self, block_or_loop: BlockHandle | str | LoopHandle, tensor_intrin: str, preserve_unit_iters: bool = True
    ) -> BlockHandle:
        """Let a tensor intrinsic do what a block, or a loop with all in it, does; the block of the intrinsic.

        before:                                    after `tensorize("i1", "add_8")`:
            for i0, i1 in T.grid(4, 8):                for i0 in range(4):
                with T.block("B"):                         with T.block("B_o"):
                    vi = T.axis.spatial(32, ...)               vi_o = T.axis.spatial(4, i0)
                    B[vi] = A[vi] + 1                          A_1 = T.match_buffer(A[vi_o * 8:vi_o * 8 + 8], (8,))
                                                               B_1 = T.match_buffer(B[vi_o * 8:vi_o * 8 + 8], (8,))
                                                               B_1[0:8] = A_1[0:8] + T.broadcast(1, 8)

        The intrinsic is registered with `register_tensor_intrin(name, desc, impl)`. What the block does must be what the
        `desc` does: the same loops, axes, and expressions up to the order of the terms of sums and products, on boxes of
        the block's buffers. A loop is made a block first, as with blockize.
        """

    def tile(self, block: BlockHandle | str, sizes: dict[str, int]) -> list[LoopHandle]:
        """Split the loops of a block by sizes, and put the loops over tiles outside of those in a tile; all the loops.

        before:                                    after `tile("C", {"vi": 8, "vj": 4})`:
            for i, j, k in T.grid(32, 32, 32):         for i_0, j_0, k, i_1, j_1 in T.grid(4, 8, 32, 8, 4):
                with T.block("C"): ...                     with T.block("C"): ...

        `sizes` names axes of the block that are a loop alone, or the loops themselves. Loops that it does not name stay
        between. It is split and reorder.
        """

    def transform_block_layout(self, block: BlockHandle | str, index_map: IndexMap | Callable[..., Any]) -> None:
        """Give a block other axes, and loops over them: `index_map` takes the old axes to the new ones, one to one.

        before:                                    after `transform_block_layout("B", lambda i, j: (i * 8 + j,))`:
            for i, j in T.grid(4, 8):                  for ax0 in range(32):
                with T.block("B"):                         with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])        v0 = T.axis.spatial(32, ax0)
                    B[vi, vj] = A[vi, vj]                      B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]

        A new axis is made of old ones that are all spatial, or all of a reduction.
        """

    def transform_layout(
        self,
        block: BlockHandle | str,
        buffer: str | int | tuple[str, int | str],
        index_map: IndexMap | Callable[..., Any],
        pad_value: int | float | bool | Expr | IndexMap | Callable[..., Any] | None = None,
        *,
        keep_interface: bool = False,
    ) -> None:
        """Store a buffer with its element `i, j` at `index_map(i, j)`; every access of the function follows.

        before:                                    after `transform_layout("B", "B", lambda i: (i // 4, i % 4), 0.0)`:
            B = T.alloc_buffer((14,), "float32")       B = T.alloc_buffer((4, 4), "float32")
            for i in range(14):                        for i in range(14):
                with T.block("B"):                         with T.block("B"):
                    vi = T.axis.spatial(14, i)                 vi = T.axis.spatial(14, i)
                    B[vi] = A[vi]                              B[vi // 4, vi % 4] = A[vi]
                                                       for ax0, ax1 in T.grid(4, 4):
                                                           with T.block("B_pad"):
                                                               v0, v1 = T.axis.remap("SS", [ax0, ax1])
                                                               T.where(ax0 == 3 and ax1 >= 2)
                                                               B[v0, v1] = 0.0

        `buffer` is a name, or ("read", 0) or ("write", 0) for one that the block reads or writes. The map must be
        injective. The places that it leaves free are padding: nothing reads them, and where `pad_value` (a number, an
        expression, a function of the new indices, or T.undef) is given, the block that makes the buffer is followed by one
        that stores it there; for a parameter that is only read, it is assumed to be there. The pad value may read the same
        buffer at its old indices: then the padding repeats elements.

        With `keep_interface` a parameter stays as it is: a new buffer is stored in that way, a block with the annotation
        `"preproc": "pad"` packs the parameter in front, and one with `"postproc": ("crop", 0)` takes it out behind. Without
        `pad_value` the padding is never written, and the interpreter reports who reads it.
        """

    def unannotate(self, block_or_loop: BlockHandle | str | LoopHandle, ann_key: str) -> None:
        """Take an annotation of a block or loop away."""

    def unroll(self, loop: LoopHandle | str) -> None:
        """Write the iterations of a loop behind each other when it is lowered: `for i in T.unroll(n)`."""

    def unsafe_set_dtype(self, block: BlockHandle | str, buffer_index: int | str, dtype: str) -> None:
        """Store the buffer that a block writes as another dtype; values are converted when stored and when read.

        Unsafe, since the narrower dtype loses digits: results change.
        """

    def vectorize(self, loop: LoopHandle | str) -> None:
        """Run the iterations of a loop as lanes of vectors: `for i in T.vectorized(n)`.

        Refused where one iteration depends on another, and where the extent is not a number.
        """

    def vectorize_inner(self, block: BlockHandle | str, lanes: int) -> LoopHandle:
        """Run the innermost loop of a block in vectors of so many lanes; the vectorized loop.

        before:                                    after `vectorize_inner("B", 8)`:
            for i in range(64):                        for i_0 in range(8):
                with T.block("B"): ...                     for i_1 in T.vectorized(8):
                                                               with T.block("B"): ...

        A loop of just so many iterations is not split. Refused where the lanes do not divide the iterations. It is split
        and vectorize.
        """

    def write_at(
        self, loop: LoopHandle | str, block: BlockHandle | str, write_buffer_index: int | str, storage_scope: str
    ) -> BlockHandle:
        """Let a block write to a copy, of which each iteration of a loop stores its part at its end; the block that copies.

        before:                                    after `write_at("i", "B", 0, "local")`:
            for i, j in T.grid(8, 8):                  for i in range(8):
                with T.block("B"):                         for j in range(8):
                    B[vi, vj] = A[vi, vj] + 1                  with T.block("B"):
                                                                   B_local[vi, vj] = A[vi, vj] + 1
                                                           for ax0 in range(8):
                                                               with T.block("B_local"):
                                                                   B[v0, v1] = B_local[v0, v1]

        It is cache_write and reverse_compute_at.
        """

    def write_in_place(self, block: BlockHandle | str, read_buffer_index: int | str) -> None:
        """Let a temporary that a block reads lie in the buffer that the block writes: it writes over what it reads.

        before:                                         after `write_in_place("B", "power")`:
            power = T.alloc_buffer((4, 8))
            with T.block("power"):                          with T.block("power"):
                power[vi, vj] = T.exp(A[vi, vj])                B[vi, vj] = T.exp(A[vi, vj])
            with T.block("B"):                              with T.block("B"):
                B[vi, vj] = power[vi, vj] / total[vi]           B[vi, vj] = B[vi, vj] / total[vi]

        Both have the same shape and dtype. The block writes each element once and reads it of the temporary, which nobody
        reads after that; nothing touches what it writes before. The loops that it shares with others run over a dimension
        of the temporary each, in order or in parallel.
        """
