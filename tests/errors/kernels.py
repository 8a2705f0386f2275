"""Mistakes of several kinds in one file: all are told in one reading, each at its place."""

from tirscript.script import ir as I, tir as T


@T.prim_func
def names(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(n):
        A[i] = T.exq(A[i])  # error: [T031] `T.exq` is not a function of T
        A[j] = 1.0
        # ^ error: [T010] `j` is not defined
    i = 3
    A[lenght] = 1.0
    # ^^^^^^ error: [T010]


@T.prim_func
def dtypes(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), u: T.uint32):
    X[0] = A[0]  # error: [T110] the value is float32, but its place holds int32
    X[1] = X[0] / 2
    #      ^^^^^^^^ error: [T105] `/` takes floats, not int32
    X[2] = X[0] + u
    #      ^^^^^^^^ error: [T107] signed with unsigned
    A[0.5] = 1.0  # error: [T112]
    if X[0]:  # error: [T102] the condition is int32, not bool
        A[0] = 0.0


@I.ir_module
class Module:
    @T.prim_func
    def shapes(A: T.Buffer((4, 4), "float32")):
        A[0] = 1.0  # error: [T111] `A` has 2 dimensions, but 1 index stands here
        A[0, 0, 0] = 1.0
        # error: [T111] `A` has 2 dimensions, but 3 indices stand here
        while True:
            A = 3  # error: [T012] `A`

    @T.prim_func
    def second(B: T.Buffer((4,), "float32")):
        B[0] = missing
        #      ^^^^^^^ error: [T010] `missing` is not defined
