"""Communication hooks of DistributedDataParallel, and processes with uneven numbers of inputs."""

from __future__ import annotations

import processes
import pytest

import shim_torch.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_mpi_available(), reason="the MPI library of the extra `mpi` is not installed"
)
# What a hook loses of a gradient, relative to its greatest element: nothing, a rounding, or what thin matrices of full rank do.
LOST = {"fp16": (1e-5, 2e-3), "bf16": (1e-4, 2e-2), "power": (0.0, 1e-5)}


def together(number, function, folder, *args):
    return processes.together(number, "hook_programs", function, folder, *args)


@pytest.mark.parametrize("number", [2, 4])
def test_hooks_give_the_mean(number, tmp_path):
    for found in together(number, "hooked", tmp_path):
        assert found.pop("noop") == 0.0
        assert found.pop("local") == [0.0, 0.0]
        assert len(found) == 18
        for (name, _), (gap, same, dtypes) in found.items():
            least, most = LOST.get(name.split()[-1], (0.0, 1e-6))
            assert least <= gap <= most and same and dtypes == {"torch.float32"}, (name, gap)


def test_thin_gradients_train(tmp_path):
    (*losses, rate, before, after), other = together(2, "learned", tmp_path)
    assert other[:-3] == losses and losses[-1] < 0.05 * losses[0]
    assert rate == before / after > 2


def test_refusals_of_hooks(tmp_path):
    for of_number, gives_number, no_function, twice, no_future, start in together(2, "hook_refusals", tmp_path):
        assert of_number == ("ValueError", "Communication hook: bucket annotation should be dist.GradBucket.")
        assert gives_number[1] == (
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )
        assert no_function == ("TypeError", "Communication hook must be callable.")
        assert twice[1] == "register_comm_hook or register_builtin_comm_hook can only be called once."
        assert no_future == (
            "RuntimeError",
            " hook's callback must return a torch.futures.Future object, but got builtins.int",
        )
        assert start[0] == "ValueError" and "Expect `start_powerSGD_iter` > 1" in start[1]


@pytest.mark.parametrize("number", [2, 3])
def test_uneven_inputs(number, tmp_path):
    """All have the last one's weights; what one process alone computes is divided by the group's size, or by one."""
    found = together(number, "uneven", tmp_path)
    ends = [[end for _, end in f[:8]] for f in found]
    assert all(e == ends[0] for e in ends)
    assert [end[2] for end in ends[0]] == [2 * number] * 8
    for way in range(1, 8):  # kinds of reduction give the same numbers
        first = found[-1][0 if way < 4 else 4]
        assert found[-1][way] == first and len(first[0]) == 2 * number
    by_all, by_active = found[-1][0][0], found[-1][4][0]
    step = 2 * (
        number - 1
    )  # the first step of which the last process is alone: the two ways have had other weights by then
    assert by_all[:2] == by_active[:2] and by_all[step] != by_active[step]
    if number == 2:
        assert [2 * x for x in by_all[2][1]] == pytest.approx(by_active[2][1])
    for rank, f in enumerate(found):
        total, ended, (seen, joinable) = f[8:]
        counts = [float(number - step) for step in range(1 + rank)]
        last = rank == number - 1
        assert seen == [*counts, *["main"] * (number - 1 - rank), last] and joinable
        assert ended[0] == "RuntimeError"
        assert ended[1] == (
            "Rank 0 exhausted all inputs."
            if rank == 0
            else "Detected at least one rank that exhausted inputs. Throwing across all ranks."
        )
        assert total[0] == "float32"
