"""Detections as rows of numbers: what is kept of them, by cases whose results can be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.script import parse

# class, score, box: the second overlaps the first by a half, and the third is of another class
ROWS = np.array(
    [[[0, 0.6, 0, 0, 2, 1], [0, 0.9, 0, 0, 1, 1], [1, 0.7, 0, 0, 1, 1], [0, 0.3, 5, 5, 6, 6]]], dtype="float32"
)
NAMES = np.array([[10, 11, 12, 13]], dtype="int32")


def run(call: str, *arrays: Any) -> Any:
    """What a call gives: interpreted and built the same."""
    params = ", ".join(f'a{at}: R.Tensor({one.shape}, "{one.dtype}")' for at, one in enumerate(arrays))
    made = parse(f"@R.function\ndef main({params}):\n    y = R.vision.{call}\n    return y\n")
    found, built = tirscript.interpret(made, *arrays), tirscript.build(made)(*arrays)
    for one, other in zip(found, built, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return found


@pytest.mark.parametrize(
    ("attrs", "count", "names"),
    [
        ("", 4, [11, 12, 13]),
        ("iou_threshold=0.6", 4, [11, 12, 10, 13]),
        ("force_suppress=True", 4, [11, 13]),
        ("id_index=-1", 4, [11, 13]),
        ("max_output_size=2", 4, [11, 12]),
        ("top_k=1", 4, [11]),
        ("", 1, [10]),
        ("", 0, []),
    ],
)
def test_the_best_of_overlapping_boxes(attrs: str, count: int, names: list[int]) -> None:
    call = f"non_max_suppression(a0, a1, a2, {attrs})"
    chosen, number = run(call, ROWS, np.array([count], "int32"), NAMES)
    assert number.tolist() == [[len(names)]] and chosen.tolist() == [names + [-1] * (4 - len(names))]


def test_scores_of_overlapping_boxes_are_lowered() -> None:
    call = "non_max_suppression(a0, a1, a2, iou_threshold=0.8, soft_nms_sigma=0.5, score_threshold=0.4)"
    rows, chosen, number = run(call, ROWS, np.array([4], "int32"), NAMES)
    assert chosen.tolist() == [[11, 12, 10, -1]] and number.tolist() == [[3]]
    np.testing.assert_allclose(rows[0, :3, 1], [0.9, 0.7, 0.6 * np.exp(-0.25)], rtol=1e-5)
    assert (rows[0, 3] == -1).all()


@pytest.mark.parametrize(("up", "places"), [(False, [0, 1, 3]), (True, [0, 1, 2])])
def test_rows_that_stay(up: bool, places: list[int]) -> None:
    call = f"non_max_suppression(a0, a1, a2, return_indices=False, invalid_to_bottom={up})"
    (rows,) = run(call, ROWS, np.array([4], "int32"), NAMES)
    np.testing.assert_array_equal(rows[places], ROWS[0, [1, 2, 3]])
    assert (np.delete(rows, places, 0) == -1).all()


def test_rows_that_count() -> None:
    counts, rows, places = run(
        "get_valid_counts(a0, score_threshold=0.6, id_index=0)", ROWS - np.float32([1, 0, 0, 0, 0, 0])
    )
    assert counts.tolist() == [1] and places.tolist() == [[2, -1, -1, -1]]
    assert rows[0, 0, 1] == ROWS[0, 2, 1] and (rows[0, 1:] == -1).all()
    assert run("get_valid_counts(a0, score_threshold=0.5, id_index=-1)", ROWS)[2].tolist() == [[0, 1, 2, -1]]


def test_boxes_by_anchors() -> None:
    scores = np.log(np.float32([[[1, 3], [1, 1]]]))
    places = np.float32([[0, 0, 0, 0, 1, 0, 0, 0]])
    anchors = np.float32([[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]])
    boxes, found = run("multibox_transform_loc(a0, a1, a2, clip=True, threshold=0.3)", scores, places, anchors)
    np.testing.assert_allclose(boxes, [[[0, 0, 1, 0.5], [0, 1, 1, 1]]], atol=1e-6)
    np.testing.assert_allclose(found, [[[0.5, 0.75], [0.5, 0]]], rtol=1e-5)


@pytest.mark.parametrize(("aligned", "wanted"), [(True, 6.25), (False, 7.5)])
def test_regions_of_less_than_a_pixel(aligned: bool, wanted: float) -> None:
    """As apache-tvm has it, `aligned` moves nothing: a region is as small as it is, rather than one pixel."""
    pixels = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
    region = np.float32([[0, 1, 1, 1.5, 1.5]])
    (found,) = run(f"roi_align(a0, a1, pooled_size=(1, 1), spatial_scale=1.0, aligned={aligned})", pixels, region)
    assert found.tolist() == [[[wanted]]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("get_valid_counts(a0, score_index=6)", "`score_index` is 6, and a row has 6 numbers"),
        ("non_max_suppression(a0, a1, a2, coord_start=3)", "a box begins at number 3, and a row has 6"),
        ("non_max_suppression(a0, a1, a2, score_index=-1)", "`score_index` is -1, which is below 0"),
        ("non_max_suppression(a0, a2, a1)", "`valid_count` must have 1 dimension, not 2"),
        ("multibox_transform_loc(a0, a2, a0)", "there are not 4 numbers for each of the boxes"),
        ("multibox_transform_loc(a0, a2, a0, variances=(0.1,))", "`variances` are 4 numbers, not 1"),
    ],
)
def test_what_does_not_fit(call: str, words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        run(call, ROWS, np.array([4], "int32"), NAMES if "supp" in call else ROWS[:, 0])
