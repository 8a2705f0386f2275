from tirscript.script import tir as T


@T.prim_func
def softmax(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    most = T.alloc_buffer((6,), "float32")
    total = T.alloc_buffer((6,), "float32")
    B_set = T.alloc_buffer((6, 40), "float32")
    for i in range(6):
        for j in range(40):
            with T.block("most"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    most[vi] = -3.4028235e38
                most[vi] = T.max(most[vi], A[vi, vj])
        for j in range(40):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_set[vi, vj] = T.exp(A[vi, vj] - most[vi])
        for j in range(40):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = 0.0
                total[vi] = total[vi] + B_set[vi, vj]
        for j in range(40):
            with T.block("B_1"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B_set[vi, vj] / total[vi]
