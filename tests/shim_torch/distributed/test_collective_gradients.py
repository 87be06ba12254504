"""Collectives with gradients in 2 and 4 processes: the sum of all processes' losses, changed a little, changes as they say."""

from __future__ import annotations

import processes
import pytest
from collective_programs import torch

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)


def given(rank, number):
    return torch.arange(4.0 * number).reshape(2 * number, 2).add(10 * rank)


def weighted(made, rank):
    return sum(
        (
            torch.tensor(t) * (torch.arange(float(torch.tensor(t).numel())).reshape(torch.tensor(t).shape) + 1 + rank)
        ).sum()
        for _, t in made
    )


@pytest.mark.parametrize("number", [2, 4])
def test_linear_collectives(number, tmp_path):
    """They are linear, so the losses' sum is the sum of inputs times gradients; and each input's gradient is as its place asks."""
    found = processes.together(number, "gradient_programs", "differentiated", tmp_path)
    refused = {"all_reduce max": "all_reduce", "reduce_scatter avg": "reduce_scatter_tensor"}
    for kind, name in found[0]:
        cases = [f[kind, name] for f in found]
        if kind == "functional" and name in refused:
            text = f"{refused[name]} backward only supports 'sum' reduction, got '{name[-3:]}'"
            assert cases == [("RuntimeError", text)] * number
            continue
        assert all(isinstance(made, list) for made, _ in cases), (name, cases)
        if name == "all_reduce max":
            continue  # PyTorch's rule, which test_processes compares
        losses = sum(weighted(made, rank) for rank, (made, _) in enumerate(cases))
        by_gradient = sum((given(rank, number) * torch.tensor(grad[1])).sum() for rank, (_, grad) in enumerate(cases))
        assert abs(float(losses - by_gradient)) <= 1e-5 * abs(float(losses)), (kind, name)


def test_places(tmp_path):
    first, second = processes.together(2, "gradient_programs", "differentiated", tmp_path)
    ones = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
    both = [[a + b for a, b in zip(row, [x + 1 for x in row], strict=True)] for row in ones]
    assert first["functional", "all_reduce"][1][1] == second["nn", "all_reduce"][1][1] == both
    assert first["nn", "broadcast"][1][1] == [[0.0, 0.0]] * 4 and second["nn", "broadcast"][1][1] == both
    assert first["functional", "all_to_all"][1][1] == [[1.0, 2.0], [3.0, 4.0], [2.0, 3.0], [4.0, 5.0]]
