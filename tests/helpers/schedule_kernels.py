"""Kernels that steps of schedules are tried on, and steps of several primitives."""

from __future__ import annotations

from typing import Any

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule
from tirscript.script import parse
from tirscript.script import tir as T


@T.prim_func
def relu_matmul(A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")):
    C = T.alloc_buffer((30, 20), "int32")
    for i, j, k in T.grid(30, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)


@T.prim_func
def any_matmul(a: T.handle, B: T.Buffer(("k", 20), "int32"), C: T.Buffer(("m", 20), "int32")):
    A = T.match_buffer(a, (m, k), "int32")
    for i, j, p in T.grid(m, 20, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def single(A: T.Buffer((1, 6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((1, 6, 5), "int32")):
    for i, j, p in T.grid(6, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[0, vi, vj] = 0
            C[0, vi, vj] += A[0, vi, vk] * B[vk, vj]


@T.prim_func
def distances(A: T.Buffer((6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((6, 5), "int32")):
    for i, j, p in T.grid(6, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.abs(A[vi, vk] * 2 - B[vk, vj]) * (A[vi, vk] * 2)


@T.prim_func
def added(A: T.Buffer((6, "k"), "int32"), B: T.Buffer(("k", 5), "int32"), C: T.Buffer((6, 5), "int32")):
    for i, j, p in T.grid(6, 5, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def corner(A: T.Buffer((30,), "int32"), S: T.Buffer((4,), "int32")):
    for k in range(30):
        with T.block("S"):
            vk = T.axis.reduce(30, k)
            with T.init():
                S[3] = 0
            S[3] += A[vk]


@T.prim_func
def widened(A: T.Buffer((6, 8), "float16"), B: T.Buffer((8, 5), "float16"), C: T.Buffer((6, 5), "float32")):
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")


@T.prim_func
def of_bytes(A: T.Buffer((6, 8), "int8"), B: T.Buffer((8, 5), "int8"), C: T.Buffer((6, 5), "int32")):
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")


@T.prim_func
def narrow(A: T.Buffer((6, 8), "bfloat16"), B: T.Buffer((8, 4), "bfloat16"), D: T.Buffer((6, 4), "float32")):
    C = T.alloc_buffer((6, 4), "float32")
    for i, j, k in T.grid(6, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
    for i, j in T.grid(6, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)


def tiled_apart(s: Schedule, panels: tuple[int, int] = (3, 2)) -> Any:
    """Tiles of three by two, chosen by what is found out of the operands."""
    left, right = (s.cache_read("C", name, "global") for name in "AB")
    i, j, k = s.get_loops("C")
    i, i_1 = s.split(i, [None, 3])
    j, j_1 = s.split(j, [None, 2])
    s.reorder(i, j, k, i_1, j_1)
    s.reverse_compute_at("D", j)
    s.compute_at(left, i)
    return s.denormals_apart(j, s.least_magnitude(left, [panels[0], 0]), s.least_magnitude(right, [0, panels[1]]))


@T.prim_func
def chain(A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16, 12), "int32")
    C = T.alloc_buffer((16, 12), "int32")
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj] - 1
    for i in range(16):
        E[i] = i


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((34,), "int32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] + 1
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@T.prim_func
def total(A: T.Buffer((30,), "int32"), S: T.Buffer((1,), "int32")):
    for k in range(30):
        with T.block("S"):
            vk = T.axis.reduce(30, k)
            with T.init():
                S[0] = 0
            S[0] += A[vk]


@T.prim_func
def counted(A: T.Buffer((30,), "int32"), H: T.Buffer((8,), "int32")):
    for i in range(30):
        with T.block("H"):
            vi = T.axis.reduce(30, i)
            if A[vi] >= 0:
                H[A[vi] % 8] += 1


@T.prim_func
def biased(A: T.Buffer((12, 10), "int32"), X: T.Buffer((12,), "int32"), D: T.Buffer((12, 1), "int32")):
    C = T.alloc_buffer((12,), "int32")
    for i, k in T.grid(12, 10):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] += A[vi, vk]
    for i in range(12):
        with T.block("D"):
            vi = T.axis.spatial(12, i)
            D[vi, 0] = X[vi] * 3 + C[vi]


@T.prim_func
def backwards(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]


@T.prim_func
def doubled(A: T.Buffer((8, 4), "int32")):
    for i, j in T.grid(6, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * 2


@T.prim_func
def padded(A: T.Buffer((8, 6), "int32"), P: T.Buffer((10, 6), "int32")):
    for i, j in T.grid(10, 6):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi >= 1 and vi < 9, A[vi - 1, vj], 7)


def tile(s: Schedule) -> None:
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[5, None])
    s.reorder(i0, j0, k, i1, j1)
    s.fuse(i0, j0)


def tiles(s: Schedule) -> Any:
    """The product in tiles of 8 by 4 by 8; the outermost loop of a tile."""
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[None, 4])
    k0, k1 = s.split(k, factors=[None, 8])
    s.reorder(i0, j0, k0, i1, j1, k1)
    return i1


def packed(s: Schedule) -> None:
    """B of the product in panels, in the order in which the tiles read it."""
    copy = s.cache_read("C", "B", "global")
    _, j, k = s.get_loops("C")
    _, j1 = s.split(j, factors=[None, 4])
    s.reorder(k, j1)
    s.sequential_buffer_access("C", "B_global")
    s.parallel(s.get_loops(copy)[0])


def rfactor(s: Schedule) -> None:
    k0, _ = s.split("k", factors=[None, 8])
    s.rfactor(k0)


def parallel_tiles(s: Schedule) -> None:
    outer, _ = s.split(s.get_loops("C")[0], [None, 8])
    s.compute_at("B", outer)
    s.parallel(outer)


running = parse("""
@T.prim_func
def running(A: T.Buffer((3, 11), "int32"), B: T.Buffer((3, 11), "int32")):
    for i, k in T.grid(3, 11):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            vk = T.axis.scan(11, k)
            B[vi, vk] = T.if_then_else(vk == 0, 0, B[vi, vk - 1]) + A[vi, vk]
""")


def tiled(s: Schedule) -> Any:
    """The loop over the rows of a tile that stores them, where there are so many."""
    s.pad_einsum("C", [4, 1, 1])
    i_0, _ = s.split(s.get_loops("C")[0], [None, 4])
    s.reorder(i_0, "p", "i_1")
    s.reverse_compute_at("C_pad", i_0)
    return s.get_loops("C_pad")[1]


def softmax(rows: int | str, columns: int | str, dtype: str = "float32") -> PrimFunc:
    """Softmax of rows, a block for each of its four steps; sizes of names are those that only the call knows."""
    shape = ", ".join(f'"{size}"' if isinstance(size, str) else str(size) for size in (rows, columns))
    params = ", ".join(f'{name}: T.Buffer(({shape}), "{dtype}")' for name in "AB")
    found = parse(f"""
@T.prim_func
def softmax({params}):
    power = T.alloc_buffer(({rows}, {columns}), "{dtype}")
    top = T.alloc_buffer(({rows},), "{dtype}")
    total = T.alloc_buffer(({rows},), "{dtype}")
    for i, j in T.grid({rows}, {columns}):
        with T.block("top"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                top[vi] = T.min_value("{dtype}")
            top[vi] = T.max(top[vi], A[vi, vj])
    for i, j in T.grid({rows}, {columns}):
        with T.block("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(A[vi, vj] - top[vi])
    for i, j in T.grid({rows}, {columns}):
        with T.block("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = 0
            total[vi] += power[vi, vj]
    for i, j in T.grid({rows}, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = power[vi, vj] / total[vi]
""")
    assert isinstance(found, PrimFunc)
    return found
