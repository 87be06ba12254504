"""The iterators of a loader, as programs that make their own subclass them, and how their workers end."""

from __future__ import annotations

import os
import queue
import signal
import threading

import pytest

import shim_torch as torch
from shim_torch.utils.data import DataLoader, IterableDataset, _utils, dataloader


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


class Counting(dataloader._BaseDataLoaderIter):
    """Gives keys, not batches, and counts what was asked for."""

    asked = 0

    def _next_index(self):
        index = super()._next_index()
        self.asked += 1
        return index

    def _next_data(self):
        return self._collate_fn([self._dataset[i] for i in self._next_index()])


class Loader(DataLoader):
    def _get_iterator(self):
        return Counting(self)


def test_an_iterator_of_ones_own():
    loader = Loader(list(range(5)), batch_size=2)
    batches = iter(loader)
    assert [b.tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    assert batches.asked == batches._num_yielded == 3
    batches._reset(loader)
    assert batches._num_yielded == 0 and next(batches).tolist() == [0, 1]
    assert (batches._num_workers, batches._timeout, batches._persistent_workers, batches._in_order) == (
        0,
        0,
        False,
        True,
    )
    assert batches._dataset is loader.dataset and batches._index_sampler is loader.batch_sampler


def test_the_fetcher_keeps_its_place():
    batches = iter(DataLoader(Stream(), batch_size=2))
    next(batches)
    fetcher = batches._dataset_fetcher
    assert list(fetcher.dataset_iter) == [2, 3, 4] and not fetcher.ended and isinstance(fetcher.dataset, Stream)


def test_persistent_workers_end_with_their_loader():
    import gc

    loader = DataLoader(list(range(4)), num_workers=1, persistent_workers=True)
    assert len(list(loader)) == len(list(loader)) == 4
    workers = loader._iterator._workers
    gc.disable()  # nothing refers to the loader but this
    try:
        del loader
        assert not workers[0].is_alive() and workers[0].exitcode == 0
    finally:
        gc.enable()


class Slow(torch.utils.data.Dataset):
    def __getitem__(self, i):
        import time

        time.sleep(0.05)
        return torch.zeros(50_000)

    def __len__(self):
        return 100


def test_an_iterator_left_half_way_ends_its_workers():
    batches = iter(DataLoader(Slow(), num_workers=2, prefetch_factor=20))
    next(batches)
    workers = batches._workers
    del batches  # neither the batches asked for nor those that nobody reads hold the workers up
    assert [w.exitcode for w in workers] == [0, 0]


class Failing(torch.utils.data.Dataset):
    def __getitem__(self, i):
        if i == 20:
            raise ValueError("item 20")
        return i

    def __len__(self):
        return 40


def failed(context):
    """A pass that an exception ends. It keeps the exception: the iterator is in a cycle with its traceback."""
    try:
        list(DataLoader(Failing(), batch_size=4, num_workers=3, multiprocessing_context=context))
    except ValueError as e:
        kept = e
    return str(kept)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_end_where_the_collector_finds_their_iterator(context):
    import gc
    import multiprocessing
    import time

    gc.collect()
    assert "item 20" in failed(context)
    assert len(multiprocessing.active_children()) == 3
    begin = time.monotonic()
    gc.collect()
    took = time.monotonic() - begin
    assert took < 4 and not multiprocessing.active_children(), took  # one that isn't told is waited for 5 seconds


def test_an_exception_leaves_no_cycle():
    import gc
    import multiprocessing

    gc.collect()
    gc.disable()
    try:
        with_error = None
        try:
            list(DataLoader(Failing(), batch_size=4, num_workers=1))
        except ValueError as e:
            with_error = str(e)
        assert "item 20" in with_error and not multiprocessing.active_children()
    finally:
        gc.enable()


def test_a_forked_copy_of_an_iterator_leaves_the_workers_alone():
    batches = iter(DataLoader(list(range(40)), num_workers=1, timeout=10))
    next(batches)
    child = os.fork()
    if child == 0:
        del batches
        os._exit(0)
    os.waitpid(child, 0)
    assert sum(1 for _ in batches) == 39


def test_pipes_are_shared_between_workers():
    made = {}

    class Pipe(torch.utils.data.IterDataPipe):
        def apply_sharding(self, count, index, group=None):
            made["shard"] = (count, index)

        def is_shardable(self):
            return True

        def __iter__(self):
            return iter(())

    _utils.worker._worker_info = _utils.worker.WorkerInfo(id=1, num_workers=2, seed=0, dataset=Pipe())
    try:
        dataloader._sharding_worker_init_fn(lambda i: made.update(init=i), 3, 2, 1)
    finally:
        _utils.worker._worker_info = None
    assert made == {"shard": (6, 5), "init": 1}


def test_a_thread_pins_what_comes():
    given, pinned, done = queue.Queue(), queue.Queue(), threading.Event()
    for item in ((0, {"a": "text"}), (1, [1, 2])):
        given.put(item)
    run = threading.Thread(target=_utils.pin_memory._pin_memory_loop, args=(given, pinned, 0, done), daemon=True)
    run.start()
    assert [pinned.get(timeout=20), pinned.get(timeout=20)] == [(0, {"a": "text"}), (1, [1, 2])]
    done.set()


@pytest.mark.parametrize(
    ("how", "text"), [(0, None), (3, "exit code 3"), (-signal.SIGKILL, "killed by signal: Killed")]
)
def test_a_dead_worker_is_an_error(how, text):
    pid = os.fork()
    if not pid:
        if how < 0:
            os.kill(os.getpid(), -how)
        os._exit(how)
    handling = _utils.signal_handling
    handling._set_worker_pids(7, (pid,))
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if text is None:
            handling._error_if_any_worker_fails()
        else:
            with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid {pid}\).*{text}"):
                handling._error_if_any_worker_fails()
        handling._error_if_any_worker_fails()  # it is said once
        with pytest.raises(ValueError, match="only once"):
            handling._set_worker_pids(7, ())
    finally:
        handling._remove_worker_pids(7)
        os.waitpid(pid, 0)
    with pytest.raises(ValueError, match="Cannot find worker information"):
        handling._remove_worker_pids(7)


def test_a_worker_that_ends_raises_in_the_main_thread(monkeypatch):
    handling, called = _utils.signal_handling, []
    old = signal.signal(signal.SIGCHLD, lambda number, frame: called.append(number))
    monkeypatch.setattr(handling, "_SIGCHLD_handler_set", False)
    try:
        elsewhere = threading.Thread(target=handling._set_SIGCHLD_handler)
        elsewhere.start()
        elsewhere.join()
        assert not handling._SIGCHLD_handler_set
        handling._set_SIGCHLD_handler()
        handler = signal.getsignal(signal.SIGCHLD)
        handling._set_SIGCHLD_handler()
        assert signal.getsignal(signal.SIGCHLD) is handler, "once"
        os.kill(os.getpid(), signal.SIGCHLD)
        assert signal.SIGCHLD in called
        called.clear()
        monkeypatch.setattr(handling, "_error_if_any_worker_fails", lambda: {}["dead"])
        with pytest.raises(KeyError, match="dead"):
            handler(signal.SIGCHLD, None)
        assert not called
    finally:
        signal.signal(signal.SIGCHLD, old)


def test_a_worker_whose_parent_was_killed_ends(monkeypatch):
    watchdog = _utils.worker.ManagerWatchdog()
    assert watchdog.is_alive()
    monkeypatch.setattr(_utils.worker, "MP_STATUS_CHECK_INTERVAL", 0.01)
    watchdog.manager_pid = -1
    assert _utils.worker._next_task(queue.Queue(), watchdog) is None


def test_stacked_data_sets_give_batches():
    class Asked(torch.utils.data.Dataset):
        def __init__(self, short=False):
            self.short = short

        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * 10

        def __getitems__(self, items):
            return [i * 10 for i in items][self.short :]

    stack = torch.utils.data.StackDataset
    assert stack(Asked(), [1, 2, 3, 4]).__getitems__([0, 3]) == [(0, 1), (30, 4)]
    assert stack(t=Asked(), n=[1, 2, 3, 4]).__getitems__([1]) == [{"t": 10, "n": 2}]
    with pytest.raises(ValueError, match="output size mismatch. Expected 4, got 3"):
        stack(Asked(short=True), [1, 2, 3, 4]).__getitems__([0, 1, 2, 3])
