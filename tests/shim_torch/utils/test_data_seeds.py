"""What seeded loaders give: the workers' generators, the pipes' orders and the workers' turns; numbers of PyTorch 2.13."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.utils import data
from shim_torch.utils.data import datapipes


class Drawn(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return i, torch.randint(0, 1000, (1,)).item(), int(np.random.randint(0, 1000)), random.randint(0, 1000)


class Counting(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id * 20, info.id * 20 + 20))

    def __len__(self):
        return 5


def test_workers_draw_what_pytorchs_draw():
    torch.manual_seed(5)
    loader = data.DataLoader(Drawn(), num_workers=2, shuffle=True, batch_size=2)
    assert [[x.tolist() for x in b] for b in loader] == [
        [[2, 3], [557, 364], [612, 106], [996, 680]],
        [[4, 5], [238, 935], [834, 96], [752, 768]],
        [[1, 0], [179, 234], [632, 484], [101, 638]],
    ]


@pytest.mark.parametrize(
    ("workers", "persistent", "second"),
    [
        (0, False, [8, 1, 10, 11, 7, 6, 4, 2, 0, 9, 5, 3]),
        (2, False, [7, 5, 10, 8, 9, 6, 0, 11, 1, 3, 2, 4]),
        (2, True, [7, 5, 10, 8, 9, 6, 0, 11, 1, 3, 2, 4]),
    ],
)
def test_pipes_shuffle_by_a_seed_that_workers_share(workers, persistent, second):
    pipe = datapipes.iter.IterableWrapper(list(range(12))).shuffle(buffer_size=20).sharding_filter()
    loader = data.DataLoader(pipe, num_workers=workers, shuffle=True, persistent_workers=persistent, batch_size=None)
    torch.manual_seed(7)
    assert list(loader) == [1, 4, 8, 9, 6, 7, 5, 10, 2, 11, 3, 0]
    assert list(loader) == second


def test_pipes_by_key_shuffle():
    torch.manual_seed(7)
    pipe = datapipes.map.SequenceWrapper(list("abcdef")).shuffle()
    assert isinstance(pipe, data.IterDataPipe) and len(pipe) == 6
    first, again = list(pipe), list(pipe)
    assert sorted(first) == sorted(again) == list("abcdef")
    assert list(pipe.set_seed(3)) == list(pipe.set_seed(3))
    assert list(pipe.set_shuffle(False)) == list("abcdef")
    assert repr(pipe) == "ShufflerIterDataPipe"


def test_workers_take_turns():
    loader = data.DataLoader(Counting(), num_workers=2, batch_size=None, persistent_workers=True)
    turns = [i + 20 * w for i in range(20) for w in range(2)]
    assert list(iter(loader)) == turns

    def said():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert list(iter(loader)) == turns
        return len(found)

    assert said() == 0  # nobody asked for the length
    len(loader)
    assert said() == 35 and said() == 35


def test_too_many_open_files_are_said():
    program = """
        import resource
        import shim_torch as torch
        from shim_torch.utils.data import DataLoader, IterableDataset
        class Many(IterableDataset):
            def __iter__(self):
                return (torch.ones(2, 2) for _ in range(200))
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        alive = []
        try:
            for t in DataLoader(Many(), multiprocessing_context="fork", num_workers=1):
                alive.append(t)
        except RuntimeError as e:
            print(e)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith("Too many open files. Communication with the workers is no longer possible."), (
        done.stderr
    )


def test_workers_can_be_shut_down():
    loader = data.DataLoader(Counting(), num_workers=2, batch_size=None, persistent_workers=True)
    next(iter(loader))
    workers = loader._iterator._workers
    loader._iterator._shutdown_workers()
    assert not any(w.is_alive() for w in workers)
