"""Mistakes in graph functions."""

from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T


@G.graph_func
def names(x: G.Tensor((4, "n"), "float32"), y: G.Tensor(("n",), "float16")):
    a = G.ad(x, x)  # error: [T031] `G.ad` is not a function of G
    b = G.add(x, y)  # error: [T107]
    c = G.add(x)  # error: [T101] needs `x2`
    d = G.add(x, q)  # error: [T010] `q` is not defined
    e = x[0]  # error: [T022] a tensor is not indexed
    f = G.sum(x, keepdim=True)  # error: [T032] no argument `keepdim`
    g = T.exp(x)  # error: [T104] `T.exp` takes scalars
    h = np.exp(x)  # error: [T010] `np` is not defined
    i = G.nn.softmx(x)  # error: [T031] `G.nn.softmx`
    j = x.shap  # error: [T030] has no `shap`
    while x:  # error: [T020] `while`
        pass
    assert x  # error: [T020] `assert`
    k = x if x else y  # error: [T021] chooses while parsing
    return (a, b, c, d, e, f, g, h, i, j, k)


@G.graph_func
def scopes(x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
    with G.dataflow():
        y = G.exp(x)
    z = G.exp(y)  # error: [T011] `y` is a variable of a dataflow
    if c:  # error: [T020] has an `else`
        w = x
    if c:
        a = x
    else:
        b = x  # error: [T020] one branch ends with `a`
    if x:  # error: [T102]
        d = x
    else:
        d = x
    return z
    e = x  # error: [T605]


@G.graph_func
def spoiled(x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
    y = G.exq(x)  # error: [T031]
    if c:
        z = G.exp(y)
    else:
        z = G.add(y, x)
    return z


@G.graph_func(privat=True)  # error: [T032] no option `privat`
def options(x: G.Tensor((4,), "float32")):
    return x


@G.graph_func
def types(
    a,  # error: [T041] has no type
    b: T.Buffer((4,), "float32"),  # error: [T041] a type of a buffer
    c: G.Tensor(4, "float32"),  # error: [T041] no shape
    d: G.Tensor((4, 1.5), "float32"),  # error: [T207]
    e: G.Tensor((m,), "float32"),  # error: [T010] `m` is not defined
    f: G.Tensor((4,), "floot32"),  # error: [T109] 'floot32'
    g: G.Tensr((4,)),  # error: [T031] `G.Tensr`
):
    return g


@I.ir_module
class Calls:
    @T.prim_func(private=True)
    def copy(x: T.Buffer(("n", 4), "float32"), y: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            y[i, j] = x[i, j]

    @T.prim_func(private=True)
    def clear(x: T.Buffer(("n", 4), "float32"), y: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            x[i, j] = 0.0
            y[i, j] = 0.0

    @G.graph_func
    def main(x: G.Tensor((8, 4), "float32"), z: G.Tensor((8, 5), "float32"), h: G.Tensor((8, 4), "float16")):
        cls = Calls
        a = G.call_tir(cls.copy, (z,), out=G.Tensor((8, 4), "float32"))  # error: [T207]
        b = G.call_tir(cls.copy, (h,), out=G.Tensor((8, 4), "float32"))  # error: [T105]
        c = G.call_tir(cls.copy, (x,), out=G.Tensor((8, 5), "float32"))  # error: [T207]
        d = G.call_tir(cls.copy, (x,), out=G.Tensor((8, 4), "int32"))  # error: [T204]
        e = G.call_tir(cls.copy, (x, x, x), out=G.Tensor((8, 4), "float32"))  # error: [T101]
        f = G.call_tir(cls.clear, (x,), out=G.Tensor((8, 4), "float32"))  # error: [T214]
        g = G.call_tir_inplace(cls.copy, (x, x), inplace_indices=[1], out=G.Tensor((8, 4), "float32"))  # error: [T214]
        w: G.Tensor((8, 6), "float32") = G.exp(x)  # error: [T207]
        G.print(x)  # error: [T216] `G.print` has effects
        with G.dataflow():
            u = G.call_packed("f", x, ty_args=G.Tensor((8, 4), "float32"))  # error: [T216]
            G.output(u)
        return cls.main(x, z, h)  # error: [T215]


@I.ir_module
class Missing:
    @G.graph_func
    def main(x: G.Tensor((8, 4), "float32")):
        cls = Missing
        a = cls.mian(x)  # error: [T030] no function `mian`
        return G.call_tir(cls.gone, (x,), out=G.Tensor((8, 4), "float32"))  # error: [T030] no function `gone`
