"""Random graphs of vectors that are as long as they turn out: native code gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.script import parse

# what is made of a vector `a`, of which `m` is a name for its length
STEPS = {
    "places": ("p{k} = G.nonzero({a})", "q{k} = G.match_cast(p{k}, G.Tensor((1, 'm{k}'), 'int64'))", "v{k} = G.reshape(q{k}, (m{k},))"),
    "values": ("p{k} = G.unique({a})", "v{k} = G.match_cast(p{k}, G.Tensor(('m{k}',), '{kind}'))"),
    "counts": ("p{k} = G.unique({a}, return_counts=True)", "v{k} = G.match_cast(p{k}[1], G.Tensor(('m{k}',), 'int64'))"),
    "slice": ("p{k} = G.dynamic_strided_slice({a}, b, e, s)", "v{k} = G.match_cast(p{k}, G.Tensor(('m{k}',), '{kind}'))"),
    "kept": (
        "c{k} = G.greater({a}, G.astype(G.const(1, 'int32'), '{kind}'))",
        "p{k} = G.nonzero(c{k})",
        "q{k} = G.match_cast(p{k}, G.Tensor((1, 'm{k}'), 'int64'))",
        "v{k} = G.take({a}, G.reshape(q{k}, (m{k},)), axis=0)",
    ),
    "twice": ("v{k} = G.concat(({a}, {a}), axis=0)",),
    "turned": ("v{k} = G.flip({a}, axis=0)",),
    "moved": ("p{k} = G.sum({a})", "v{k} = G.add({a}, p{k})"),
}  # fmt: skip
INTEGERS = ("places", "counts")
HEAD = """
@G.graph_func
def main(x: G.Tensor(("n",), "float32"), b: G.Tensor((1,), "int64"), e: G.Tensor((1,), "int64"), s: G.Tensor((1,), "int64")):
    v0 = G.exp(G.negative(x))
"""


@pytest.mark.long
@settings(max_examples=settings.default.max_examples // 4)  # each of them is built
@given(st.lists(st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 9)), min_size=1, max_size=6), st.data())
def test_native_code_gives_what_the_interpreter_gives(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    lines, kinds = [HEAD], ["float32"]
    for k, (name, at) in enumerate(steps, 1):
        source = at % len(kinds)
        lines += (f"    {line}\n".format(k=k, a=f"v{source}", kind=kinds[source]) for line in STEPS[name])
        kinds.append("int64" if name in INTEGERS else kinds[source])
    results = data.draw(st.sets(st.integers(0, len(steps)), min_size=1, max_size=3))
    func = parse("".join(lines) + f"    return {', '.join(f'v{at}' for at in sorted(results))}\n")
    built = tirscript.build(func)
    bound = st.integers(-9, 9).map(lambda value: np.array([value]))
    for _ in range(2):
        x = np.array(data.draw(st.lists(st.integers(0, 3), max_size=7)), "float32")
        args = (x, data.draw(bound), data.draw(bound), np.array([data.draw(st.sampled_from((-2, -1, 1, 3)))]))
        wanted, found = tirscript.interpret(func, *args), built(*args)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
