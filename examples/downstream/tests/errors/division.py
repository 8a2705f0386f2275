"""Divisions by what is not known, wherever they stand."""

from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(64):
        if i % n == 0:  # error: [T402] the machine has no `%` of integers
            A[i] = A[i] // n + i // 8
            #      ^^^^^^^^^ error: [T402] `//`
            #                  ^^^^^^ error: [T402] `//`
        A[i] = T.truncdiv(A[i], n)  # error: `truncdiv`
