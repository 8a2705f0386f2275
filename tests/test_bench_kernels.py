"""The pieces of `make bench-kernels` that can be wrong: which kernels, what is compared, whose time counts, ratios."""

from __future__ import annotations

import io
import itertools
import json
import math
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tirscript

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def folder() -> Iterator[None]:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def small() -> list[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from kernels_cases import SMALL
    finally:
        sys.path.remove(str(BENCHMARKS))
    return list(SMALL)


# -- the kernels


def test_the_list_is_that_of_the_issue() -> None:
    from kernels_cases import CASES, SMALL

    kinds = [case.kind for case in CASES if case.counted]
    assert set(kinds) == {case.kind for case in SMALL} and len(kinds) == 25
    sizes = {case.sizes for case in CASES if case.kind == "matmul"}
    assert {(n, n, n) for n in (256, 512, 1024, 2048, 1000)} < sizes and len(sizes) == 6
    assert len({case.name for case in (*CASES, *SMALL)}) == len(CASES) + len(SMALL)
    assert {case.sizes for case in CASES if case.kind == "softmax"} == {(1024, 1024), (64, 50000)}


@pytest.mark.parametrize("case", small(), ids=lambda case: case.name)
def test_plain_loops_schedules_and_numpy_agree_with_the_reference(case: Any) -> None:
    import kernels_numpy
    import kernels_tirscript

    arguments = case.arguments()
    variants = {
        **kernels_tirscript.prepare(case, arguments, {}),
        **kernels_numpy.prepare(case, arguments, {}),
    }
    assert {"plain loops", "tirscript", "numpy"} <= set(variants)
    for name, make in variants.items():
        run = make()
        assert case.wrong(arguments, run()) is None, name
        assert case.wrong(arguments, run()) is None, f"{name}, called again"
        kernel, given = run.direct
        results = given[len(arguments) :]
        for array in results:
            array[...] = 0
        kernel(*given)
        assert case.wrong(arguments, list(results)) is None, f"{name}, as it is measured"


def test_the_loops_are_read_by_apache_tvm_too() -> None:
    from kernels_ours import naive

    for case in small():
        assert "sblock" in naive(case).script(dialect="tvm")


def test_schedules_of_examples_are_taken_where_they_fit() -> None:
    from kernels_cases import conv3x3, matmul, softmax, total
    from kernels_ours import by_hand, naive

    assert by_hand(matmul(1000, 1000, 1000, "")) is None and by_hand(matmul(64, 64, 128, "")) is None
    for case in (matmul(64, 64, 64, ""), conv3x3(2, 16, 7), softmax(3, 64), total(256)):
        scheduled = by_hand(case)
        assert scheduled is not None
        arguments, results = case.arguments(), case.results()
        tirscript.build(scheduled)(*arguments, *results)
        assert case.wrong(arguments, results) is None
        assert [p.name for p in scheduled.params] and len(scheduled.params) == len(naive(case).params)


def test_arguments_are_the_same_in_every_process_and_differ_between_kernels() -> None:
    from kernels_cases import find

    one, two = find("softmax 5x77").arguments(), find("softmax 5x77").arguments()
    np.testing.assert_array_equal(one[0], two[0])
    assert not np.array_equal(one[0], find("layer norm 5x77").arguments()[0])


# -- comparing


def test_a_wrong_kernel_is_caught() -> None:
    from kernels_cases import find

    for case in small():
        arguments = case.arguments()
        right = case.reference(*arguments)
        right = np.asarray(right).astype(case.outputs[0][1])
        assert case.wrong(arguments, right) is None and case.wrong(arguments, [right]) is None
        assert case.wrong(arguments, case.results()) is not None, "zeros"
        off = right.copy()
        off.flat[off.size // 2] += 1 if off.dtype.kind == "i" else abs(right).max() * 0.01
        message = case.wrong(arguments, off)
        assert message is not None and message.startswith("1 of "), message
        assert "shape" in (case.wrong(arguments, right[None]) or "")
        assert case.wrong(arguments, [right, right]) == "2 results instead of 1"
        if off.dtype.kind == "f":
            off.flat[0] = np.nan
            assert (case.wrong(arguments, off) or "").startswith(f"{min(2, off.size)} of ")
    assert find("softmax 5x77").error <= 1e-5


def test_integers_must_be_equal_and_floats_near_the_largest() -> None:
    from kernels_cases import difference

    want = np.array([1000.0, 0.0])
    assert difference(np.array([1000.0, 0.009], "float32"), want, 1e-5) is None
    assert difference(np.array([1000.0, 0.02], "float32"), want, 1e-5) is not None
    assert difference(np.array([1, 2]), np.array([1, 3]), 1.0) == "1 of 2 integers differ"
    assert difference(np.zeros((0,)), np.zeros((0,)), 0.0) is None


# -- a side


def side(**made: Any) -> Any:
    """A side whose peer is made of the given variants."""
    from kernels_side import Side

    found = Side.__new__(Side)
    found.runs = {}
    found.peer = SimpleNamespace(prepare=lambda case, arguments, options: made)
    return found


def test_a_side_measures_only_what_computes_the_right_thing() -> None:
    case = next(case for case in small() if case.kind == "gather")
    arguments = case.arguments()

    def raises() -> Any:
        raise ValueError("first line\nno such operator\n\n")

    one = side(
        right=lambda: lambda: arguments[0][arguments[1]],
        wrong=lambda: lambda: arguments[0][arguments[1]] + 1,
        fails=lambda: raises,
        unmade=raises,
    )
    answer = one.prepare(case.name, {})
    assert list(answer) == ["right", "wrong", "fails", "unmade"] and set(one.runs) == {"right"}
    assert answer["right"].keys() == {"first", "seconds"} and len(answer["right"]["seconds"]) == 1
    assert 0 < answer["right"]["seconds"][0] <= answer["right"]["first"]
    assert answer["wrong"]["wrong"].startswith("360 of 360 elements are off by up to 1")
    assert answer["fails"] == answer["unmade"] == {"wrong": "ValueError: no such operator"}
    assert one.run("right").keys() == {"seconds"}
    assert list(one.prepare(case.name, {"skip": ["wrong", "fails"]})) == ["right", "unmade"]


def test_what_compiles_at_its_first_call_is_not_taken_for_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    import kernels_side

    case = next(case for case in small() if case.kind == "gather")
    arguments = case.arguments()
    clock, costs = [0.0], iter([7.0, 0.25, 100.0])

    def compiled() -> Any:
        clock[0] += next(costs)
        return arguments[0][arguments[1]]

    def make() -> Any:
        clock[0] += 0.5
        return compiled

    monkeypatch.setattr(kernels_side.time, "perf_counter", lambda: clock[0])
    assert side(numba=make).prepare(case.name, {}) == {"numba": {"first": 7.5, "seconds": [0.25]}}
    costs = iter([0.75, 100.0])
    assert side(quick=make).prepare(case.name, {}) == {"quick": {"first": 1.25, "seconds": [0.75]}}


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2), (1, 2, 3, 4)])
@pytest.mark.parametrize("cost", [3e-7, 1e-3, 0.5])
def test_the_time_of_a_call_is_that_of_one_call(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[int, ...], cost: float
) -> None:
    import kernels_side

    clock, calls = [0.0], [0]

    def function(*given: int) -> None:
        assert given == arguments
        calls[0] += 1
        clock[0] += cost

    monkeypatch.setattr(kernels_side.time, "perf_counter", lambda: clock[0])
    run = SimpleNamespace(direct=(function, arguments)) if arguments else function
    assert kernels_side.seconds(run) == pytest.approx(cost)
    last = kernels_side.LEAST / cost
    assert calls[0] >= last and calls[0] <= max(2, 4 * last), "enough calls, and not many more"


# -- the run


class FakePeer:
    """Answers like a process; the time of a variant counts up."""

    asked: list[tuple[str, str]] = []

    def __init__(self, name: str, answers: dict[str, Any], times: dict[str, list[float]]) -> None:
        self.name, self.answers = name, answers
        self.times = {variant: iter(values) for variant, values in times.items()}

    def ask(self, do: str, **given: Any) -> Any:
        if do == "prepare":
            assert given["case"] == "gemv 64" and given["options"] == {"threads": 1}
            return self.answers
        FakePeer.asked.append((self.name, given["variant"]))
        return {"seconds": next(self.times[given["variant"]])}

    def settle(self) -> None:
        FakePeer.asked.append((self.name, "rests"))


def test_variants_take_turns_and_their_median_counts() -> None:
    import kernels_main
    from kernels_cases import find

    FakePeer.asked = []
    given = {"first": 2.0, "seconds": [0.9]}
    peers: dict[str, Any] = {
        "a": FakePeer("a", {"x": dict(given), "y": {"wrong": "no"}}, {"x": [3, 0.1, 0.2, 0.4, 0.3]}),
        "b": FakePeer(
            "b", {"z": dict(given), "slow": {"first": 5.0, "seconds": [1.5]}}, {"z": [0.5, 0.7, 0.6, 0.9, 0.1]}
        ),
        "c": FakePeer("c", {}, {}),
    }
    found = kernels_main.measure(find("gemv 64"), peers, {"threads": 1}, 5)
    turns = [("a", "x"), ("a", "rests"), ("b", "z"), ("b", "rests")]
    prepared = [("a", "rests"), ("b", "rests"), ("c", "rests")]  # threads of all libraries, before anything is measured
    assert FakePeer.asked == prepared + turns * 5, "what is slow is not run again"
    assert found["y"] == {"wrong": "no"}
    assert found["x"]["median"] == 0.3 and found["x"]["seconds"] == [3, 0.1, 0.2, 0.4, 0.3]
    assert found["z"]["median"] == 0.6 and found["z"]["first"] == 2.0
    assert found["slow"]["median"] == 1.5


def test_what_would_take_too_long_is_left_out() -> None:
    import kernels_main
    from kernels_cases import find

    done = {
        "matmul 512": {"plain": {"median": 0.5}, "fast": {"median": 0.001}, "bad": {"wrong": "no"}},
        "matmul 256": {"plain": {"median": 0.001}, "fast": {"median": 1.0}, "left out later": {"median": 1.0}},
        "gemv 4096": {"other": {"median": 1e6}},
    }
    assert kernels_main.too_slow(find("matmul 1024"), done, 4.1) == ["left out later"]
    assert kernels_main.too_slow(find("matmul 1024"), done, 3.9) == ["left out later", "plain"]
    assert kernels_main.too_slow(find("matmul 2048"), done, 20) == ["left out later", "plain"]
    assert kernels_main.too_slow(find("softmax 1024x1024"), done, 0) == []


def test_kernels_are_chosen_by_pattern() -> None:
    import kernels_main

    names = [case.name for case in kernels_main.cases(kernels_main.arguments(["--kernels", "softmax*,sum*"]))]
    assert names == ["softmax 1024x1024", "softmax 64x50000", "sum 16M"]
    assert len(kernels_main.cases(kernels_main.arguments(["--quick"]))) == len(small())
    with pytest.raises(SystemExit, match="no kernel matches nothing; there are: matmul 256,"):
        kernels_main.cases(kernels_main.arguments(["--kernels", "nothing"]))


# -- the report


def times(**medians: float) -> dict[str, Any]:
    return {name.replace("_", " "): {"median": value, "first": 1.0} for name, value in medians.items()}


RESULT: dict[str, Any] = {
    "machine": {"processor": "p", "processors": 2, "load_at_start": 0.5},
    "versions": {"tirscript": "0", "torch": "2"},
    "threads": {
        "1": {
            "limits": {"flops": 1e11, "read": 2e10, "copy": 1e10, "triad": 1.2e10},
            "kernels": {
                "matmul 512": times(tirscript=0.004, torch=0.002, numba=0.04, plain_loops=0.04),
                "sum 16M": times(tirscript=0.005, torch=0.010, numpy=0.004),
                "a call, 16 floats": times(tirscript=1e-7, torch=1e-3),
                "softmax 1024x1024": {**times(tirscript=0.001), "torch": {"wrong": "off [by] much"}},
            },
        }
    },
}


def test_ratios_and_means() -> None:
    import kernels_report

    kernels = RESULT["threads"]["1"]["kernels"]
    assert kernels_report.ratio(kernels["matmul 512"], "torch") == 0.5
    assert kernels_report.ratio(kernels["matmul 512"], "plain loops") == 10
    assert kernels_report.ratio(kernels["softmax 1024x1024"], "torch") is None
    assert kernels_report.best_peer(kernels["matmul 512"]) == "torch"
    assert kernels_report.best_peer(kernels["sum 16M"]) == "numpy"
    assert kernels_report.best_peer(kernels["softmax 1024x1024"]) is None
    means = kernels_report.means(kernels)
    assert means == {"numpy": pytest.approx(0.8), "numba": pytest.approx(10), "torch": pytest.approx(1.0)}
    assert kernels_report.geometric_mean([]) is None
    assert kernels_report.geometric_mean([2, 8]) == pytest.approx(4)


def test_the_limit_is_what_takes_longer() -> None:
    import kernels_report
    from kernels_cases import find

    limits = RESULT["threads"]["1"]["limits"]
    taken, bound = kernels_report.least_time(find("matmul 512"), limits)
    assert bound == "compute" and taken == pytest.approx(2 * 512**3 / 1e11)
    taken, bound = kernels_report.least_time(find("sum 16M"), limits)
    assert bound == "memory" and taken == pytest.approx(4 * 2**24 / 2e10)
    taken, bound = kernels_report.least_time(find("transpose 4096x4096"), limits)
    assert bound == "memory" and taken == pytest.approx(8 * 2**24 / 1.2e10)
    share = kernels_report.share_of_limit(find("sum 16M"), RESULT["threads"]["1"]["kernels"]["sum 16M"], limits)
    assert share == pytest.approx(4 * 2**24 / 2e10 / 0.005)


def test_the_tables_show_it() -> None:
    import kernels_report
    from rich.console import Console

    out = io.StringIO()
    kernels_report.show(RESULT, Console(file=out, width=200))
    lines = [" ".join(line.replace("│", " ").split()) for line in out.getvalue().splitlines()]
    assert "limits with 1: 100 GFLOP/s, read 20.0, copy 10.0, triad 12.0 GB/s" in lines
    assert "matmul 512 40 ms 4 ms - 40 ms 2 ms" in lines
    assert "matmul 512 - 10.00 0.50 10.00 0.50 67% compute" in lines
    assert "softmax 1024x1024 - 1 ms - - wrong" in lines
    assert "geometric mean 0.80 10.00 1.00" in lines and "goal - 3.00 1.15" in lines
    assert "softmax 1024x1024, 1: torch: off [by] much" in lines


def test_the_page_shows_it() -> None:
    import kernels_report

    assert kernels_report.markdown(RESULT).splitlines() == [
        "one thread:",
        "",
        "| | tirscript | numpy | numba | torch | plain loops | by hand | of the limit |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
        "| matmul 512 | 4 ms | - | 10.00 | 0.50 | 10.00 | - | 67% |",
        "| sum 16M | 5 ms | 0.80 | - | 2.00 | - | - | 67% |",
        "| a call, 16 floats | 100 ns | - | - | 10000.00 | - | - | - |",
        "| softmax 1024x1024 | 1 ms | - | - | - | - | - | 70% |",
        "| geometric mean |  | 0.80 | 10.00 | 1.00 |  |  |  |",
    ]


@pytest.mark.parametrize(
    "seconds,text", [(None, "-"), (2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 us"), (7.8e-8, "78 ns")]
)
def test_durations(seconds: float | None, text: str) -> None:
    import kernels_report

    assert kernels_report.duration(seconds) == text


def test_the_picture_is_drawn_to_scale() -> None:
    import kernels_picture

    root = ElementTree.fromstring(kernels_picture.picture(RESULT))
    svg = "{http://www.w3.org/2000/svg}"
    widths = {}
    for bar in root.iter(f"{svg}rect"):
        title = bar.find(f"{svg}title")
        if title is not None:
            widths[title.text] = float(bar.get("width", "nan"))
    ours = (kernels_picture.WIDTH - kernels_picture.LEFT - kernels_picture.RIGHT) / 2
    assert widths["matmul 512: torch 2.00"] == pytest.approx(2 * ours, abs=0.1)
    assert widths["matmul 512: numba 0.10"] == pytest.approx(0.1 * ours, abs=0.1)
    assert widths["sum 16M: numpy 1.25"] == pytest.approx(1.25 * ours, abs=0.1)
    assert len([title for title in widths if title.startswith("softmax")]) == 0
    dots = {dot.find(f"{svg}title").text: dot for dot in root.iter(f"{svg}circle")}  # type: ignore[union-attr]
    assert set(dots) == {"matmul 512: 67.1 GFLOP/s", "sum 16M: 3.4 GFLOP/s", "softmax 1024x1024: 5.2 GFLOP/s"}
    height = {name: float(dot.get("cy", "nan")) for name, dot in dots.items()}
    across = {name: float(dot.get("cx", "nan")) for name, dot in dots.items()}
    assert (
        height["matmul 512: 67.1 GFLOP/s"] < height["softmax 1024x1024: 5.2 GFLOP/s"] < height["sum 16M: 3.4 GFLOP/s"]
    )
    assert (
        across["matmul 512: 67.1 GFLOP/s"] > across["softmax 1024x1024: 5.2 GFLOP/s"] > across["sum 16M: 3.4 GFLOP/s"]
    )


def test_a_result_can_be_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import kernels_main

    (tmp_path / "r.json").write_text(json.dumps(RESULT))
    kernels_main.main(["--from", str(tmp_path / "r.json"), "--picture", str(tmp_path / "new" / "p.svg")])
    assert "geometric mean" in capsys.readouterr().out
    assert (tmp_path / "new" / "p.svg").read_text().startswith("<svg ")


# -- the limits


def test_the_loops_that_measure_limits_do_what_they_say() -> None:
    import ctypes

    import kernels_limits

    loops = kernels_limits.Loops()
    n = loops.lanes * 8 * 3
    a, b, c = (kernels_limits._aligned(n + 16) for _ in range(3))
    rng = np.random.default_rng(0)
    for name, times in itertools.product(("copy", "copy_streamed", "triad", "triad_streamed", "read"), (1, 3)):
        a[:], b[:], c[:] = -1, rng.standard_normal(n + 16), rng.standard_normal(n + 16)
        loops.loop(name, 3)(*(ctypes.c_void_p(one.ctypes.data) for one in (a, b, c)), n, times)
        if name == "read":
            assert float(a[: loops.lanes].sum()) == pytest.approx(float(b[:n].sum()), abs=1e-3)
            continue
        want = b[:n] if name.startswith("copy") else b[:n].astype("float64") + c[:n].astype("float64") ** 2
        np.testing.assert_allclose(a[:n], want, rtol=1e-5, atol=1e-6)
        assert (a[n:] == -1).all()
    out = kernels_limits._aligned(64)
    out[:] = 0.5
    loops.loop("fma", 1)(ctypes.c_void_p(out.ctypes.data), 3)
    # a = a * x + x, three times, in every accumulator
    assert out[: loops.lanes] == pytest.approx(kernels_limits.ACCUMULATORS * 0.875)
    assert math.isfinite(float(out[0]))
