"""Asynchronous tensor parallelism in 2, 3 and 4 processes: pieces give what the plain form gives, and what one process does."""

from __future__ import annotations

import processes
import pytest

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


@pytest.mark.parametrize(
    ("number", "shape", "dim", "options"),
    [
        (2, (8, 6), 0, {}),
        (2, (3, 4, 6), 1, {"bias": False, "copied": True}),
        (3, (2, 6, 5), 1, {}),
        (3, (6, 2, 5), 0, {"bias": False}),
        (4, (8, 3, 4), 0, {}),
        (4, (2, 2, 8, 4), 2, {"frozen": ("up.weight", "down.bias")}),
        (2, (8, 6), -2, {"dtype": "float64", "by_group": True}),
        (2, (8, 6), 0, {"bias": False, "parts": 2}),
        (3, (2, 6, 5), 1, {"bias": False, "parts": 2}),
        (3, (9, 5), 0, {"bias": False, "parts": 1}),  # three rows each
        (2, (8, 6), None, {"bias": False, "parts": 2}),
        (2, (4, 6), None, {"copied": True}),
        (3, (2, 3, 5), None, {"bias": False}),
        (2, (3, 2, 6), None, {"frozen": ("up.weight", "down.bias")}),
        (2, (4, 6), 0, {"frozen": ("up.weight", "up.bias", "down.weight", "down.bias")}),
    ],
)
def test_pieces_are_the_plain_form(number, shape, dim, options, tmp_path):
    for used, (to_plain, to_one), same in processes.together(
        number, "pieces_programs", "layers", tmp_path, "cpu", shape, dim, options
    ):
        assert used == ["column", "row"] and same
        assert to_plain < 2e-6 and to_one < 2e-6


def test_what_is_left_to_the_plain_form(tmp_path):
    for used, found in processes.together(2, "pieces_programs", "left_alone", tmp_path):
        assert used == [] and all(value for _, value in found)
