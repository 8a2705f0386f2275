"""Convolutions, pools and images whose batches and channels lie in blocks compute what those of whole axes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.ir.graph_ops.axes import arranged, axes_of, placed, rearranged
from tirscript.script import parse

CASES = (
    ("nn.conv2d", ("N4cCHW1n", "OI3oHW2i", "NHWC5c"), "strides=[2, 1], padding=[1, 0, 0, 2]", ((2, 4, 7, 5), (15, 4, 3, 2))),
    ("nn.conv2d", ("NCHW4c", "OIHW4o", "NCHW4c"), "groups=2, dilation=2", ((1, 8, 6, 6), (4, 4, 2, 2))),
    ("nn.conv2d", ("NCHW", "OIHW3i", "N2nHWC4c"), "out_dtype='float64'", ((4, 3, 5, 5), (8, 3, 1, 5))),
    ("nn.conv1d", ("NCW2c", "OIW", "NCW"), "padding=1", ((1, 4, 5), (3, 4, 3))),
    ("nn.conv3d", ("NDHWC2c", "OIDHW", None), "padding=1", ((1, 2, 3, 2, 3), (4, 2, 2, 2, 2))),
    ("nn.conv2d_transpose", ("NCHW3c", "OIHW2o3i", "NHWC4c"), "strides=2, padding=1", ((1, 6, 3, 4), (4, 6, 3, 2))),
    ("nn.conv2d_transpose", ("NCHW2c", "IOHW", "NCHW"), "groups=2", ((1, 4, 3, 3), (3, 4, 2, 2))),
    ("nn.max_pool2d", ("NCHW4c", "NCHW2c"), "pool_size=(2, 3), strides=2, padding=1", ((2, 8, 5, 6),)),
    ("nn.avg_pool2d", ("N2nCHW", "NHWC3c"), "pool_size=3, padding=[1, 1, 0, 2], ceil_mode=True", ((4, 3, 5, 6),)),
    ("nn.avg_pool1d", ("NCW16c", None), "pool_size=2, strides=2, count_include_pad=True", ((1, 16, 7),)),
    ("nn.adaptive_avg_pool2d", ("NCHW4c", "NCHW2c"), "output_size=(3, 2)", ((2, 4, 7, 4),)),
    ("nn.adaptive_avg_pool2d", ("NCHW4c", "NHWC"), "", ((2, 4, 3, 4),)),
    ("image.resize2d", ("NCHW4c", None), "size=(5, 3)", ((2, 8, 3, 4),)),
    ("image.resize3d", ("N2nDHWC3c", None), "size=(1, 2, 7)", ((2, 3, 2, 3, 4),)),
)  # fmt: skip


def plain(layout: str) -> str:
    return "".join(letter for letter, count in axes_of(layout) if not count)


def program(name: str, layouts: dict[str, str], more: str, arrays: list[Any]) -> str:
    options = ", ".join([f'{key}="{layout}"' for key, layout in layouts.items()] + [more] * bool(more))
    params = ", ".join(f'x{at}: G.Tensor({array.shape}, "float32")' for at, array in enumerate(arrays))
    names = ", ".join(f"x{at}" for at in range(len(arrays)))
    return f"@G.graph_func\ndef main({params}):\n    y = G.{name}({names}, {options})\n    return y\n"


@pytest.mark.parametrize("name, layouts, more, shapes", CASES)
def test_blocks_compute_what_whole_axes_do(name: str, layouts: Any, more: str, shapes: Any) -> None:
    keys = ("data_layout", "kernel_layout", "out_layout") if "conv" in name else ("layout", "out_layout")
    given = {key: layout for key, layout in zip(keys, layouts, strict=True) if layout}
    orders = ["NC" + "DHW"[5 - len(shapes[0]) :], "OI" + "DHW"[5 - len(shapes[0]) :]]
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, shape).astype("float32") for shape in shapes]
    blocked = [
        np.ascontiguousarray(rearranged(array, order, layout))
        for array, order, layout in zip(arrays, orders, layouts, strict=False)
    ]
    whole = [
        np.ascontiguousarray(rearranged(array, order, plain(layout)))
        for array, order, layout in zip(arrays, orders, layouts, strict=False)
    ]
    func = parse(program(name, given, more, blocked))
    out_layout = layouts[-1] or layouts[0]
    same = parse(program(name, {key: plain(layout) for key, layout in given.items()}, more, whole))
    wanted = np.asarray(tirscript.interpret(same, *whole))
    wanted = rearranged(arranged(wanted, plain(out_layout), orders[0]), orders[0], out_layout)
    for text in (func.script(), func.script(dialect="tvm")):
        again = parse(text)
        assert again.script() == func.script()
    assert np.asarray(tirscript.interpret(func, *blocked)).tolist() == wanted.tolist()
    found = np.asarray(tirscript.build(func)(*blocked))
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_places_and_arrays() -> None:
    array = np.arange(2 * 6 * 3).reshape(2, 6, 3)
    blocked = rearranged(array, "NCW", "CNW3c")
    assert blocked.shape == (2, 2, 3, 3)
    assert (arranged(blocked, "CNW3c", "NCW") == array).all()
    for n, c, w in np.ndindex(2, 6, 3):
        assert blocked[tuple(placed("CNW3c", {"N": n, "C": c, "W": w}))] == array[n, c, w]


def test_blocks_of_symbolic_sizes() -> None:
    func = parse(
        """
@G.graph_func
def main(x: G.Tensor(("n", "c", "h", "w", 4), "float32"), k: G.Tensor(("o", "c * 4", 3, 3), "float32")):
    y = G.nn.conv2d(x, k, data_layout="NCHW4c", out_layout="NCHW")
    return y
"""
    )
    assert str(func.result.shape) and [one.script(fragment=True) for one in func.result.shape] == [
        "n",
        "o",
        "h - 2",
        "w - 2",
    ]
    rng = np.random.default_rng(1)
    x, k = rng.integers(-3, 4, (2, 2, 4, 5, 4)).astype("float32"), rng.integers(-3, 4, (3, 8, 3, 3)).astype("float32")
    assert np.asarray(tirscript.build(func)(x, k)).tolist() == np.asarray(tirscript.interpret(func, x, k)).tolist()


WRONG = (
    ("NC4h", "(1, 4, 4, 4)", "axes other than N and C in blocks"),
    ("NCHWc", "(1, 4, 4, 4, 4)", "'NCHWc'"),
    ("NCHW0c", "(1, 4, 4, 4, 4)", "'NCHW0c'"),
    ("NCHW4c2c", "(1, 4, 4, 4, 4, 2)", "'NCHW4c2c'"),
    ("NCHW4", "(1, 4, 4, 4)", "'NCHW4'"),
    ("NCHW8c", "(1, 1, 4, 4, 4)", "8 and 4"),
    ("NCHW4c", "(1, 4, 4, 4)", "must have 5 dimensions, not 4"),
)


@pytest.mark.parametrize("layout, shape, message", WRONG)
def test_layouts_that_are_none(layout: str, shape: str, message: str) -> None:
    text = f'@G.graph_func\ndef f(x: G.Tensor({shape}, "float32")):\n    return G.nn.max_pool2d(x, layout="{layout}")\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_a_result_makes_whole_blocks() -> None:
    text = """
@G.graph_func
def f(x: G.Tensor((1, 6, 4, 4), "float32")):
    return G.nn.max_pool2d(x, layout="NCHW", out_layout="NCHW4c")
"""
    with pytest.raises(DiagnosticError, match="6 along C, no whole blocks of 4"):
        parse(text)
