from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        T.evaluate(T.call_packed("test_dsp.grow", A.data, B.data))
        M.step(B, C)

    @T.prim_func
    def grow(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"target": T.target("test_dsp"), "external": "test_dsp.grow"})
        for i in range(8):
            B[i] = A[i] * 3
        M.shared_test_dsp(B)
        M.own(B)

    @T.prim_func
    def step(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = A[i] - 1
        M.shared(B)

    @T.prim_func(private=True)
    def shared(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = A[i] * 2

    @T.prim_func(private=True)
    def shared_test_dsp(A: T.Buffer((8,), "int32")):
        T.func_attr({"target": T.target("test_dsp"), "external": "test_dsp.shared_test_dsp"})
        for i in range(8):
            A[i] = A[i] * 2

    @T.prim_func(private=True)
    def own(A: T.Buffer((8,), "int32")):
        T.func_attr({"target": T.target("test_dsp"), "external": "test_dsp.own"})
        for i in range(8):
            A[i] = A[i] + 7
