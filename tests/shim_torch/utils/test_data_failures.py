"""What goes wrong in a loader's worker is raised where the loader is read, within a second of its happening."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from shim_torch.utils import data


class Raising(data.Dataset):
    """Its tenth item raises, and says when."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        if i == 9:
            self.fail()
        return i

    def fail(self):
        raise ValueError(f"at {time.time()}")


class Streaming(data.IterableDataset):
    def __iter__(self):
        yield 1
        raise ValueError(f"at {time.time()}")


class Ending(Raising):
    """Its worker ends without a word; when is the time at which the file was written."""

    def __init__(self, file, how):
        self.file, self.how = file, how

    def fail(self):
        with open(self.file, "w") as file:
            file.write("now")
        if self.how == "exit":
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL)


def start_wrong(worker):
    raise ValueError(f"at {time.time()}")


CASES = {
    "an item": (Raising(), {}),
    "a stream": (Streaming(), {}),
    "workers that stay": (Raising(), {"persistent_workers": True}),
    "the worker's start": (Raising(), {"worker_init_fn": start_wrong}),
}


def passed(loader) -> float:
    """Seconds from what happened in a worker, which the error says, to the error here."""
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process") as caught:
        for _ in loader:
            pass
    now = time.time()
    return now - float(re.search(r"at ([\d.]+)$", str(caught.value), re.M)[1])


@pytest.mark.parametrize("start", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize("case", CASES)
def test_an_exception_comes_at_once(case, start):
    dataset, options = CASES[case]
    loader = data.DataLoader(dataset, batch_size=2, num_workers=2, multiprocessing_context=start, **options)
    assert passed(loader) < 1


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_worker_that_ends_is_missed(how, start, tmp_path):
    file = tmp_path / "when"
    loader = data.DataLoader(Ending(str(file), how), batch_size=2, num_workers=2, multiprocessing_context=start)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        for _ in loader:
            pass
    assert time.time() - file.stat().st_mtime < 3


def test_options_of_workers_without_workers():
    with pytest.raises(AssertionError, match="_SingleProcessDataLoaderIter requires timeout == 0"):
        iter(data.DataLoader([1, 2], timeout=1))
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(data.DataLoader([1, 2], num_workers=1, prefetch_factor=0))
