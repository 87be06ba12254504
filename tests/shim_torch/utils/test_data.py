"""torch.utils.data: data sets, samplers, collation and loading with and without worker processes."""

from __future__ import annotations

from collections import UserDict, UserList, defaultdict, deque, namedtuple

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.utils import data
from shim_torch.utils.data import _utils

Point = namedtuple("Point", "x y")


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return torch.tensor([i, i * i]), i


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 7, step))


class Failing(Squares):
    def __getitem__(self, i):
        raise KeyError("no item")


@pytest.mark.parametrize("workers", [0, 2])
def test_batches(workers):
    loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    batches = list(loader)
    assert [len(b[1]) for b in batches] == [4, 4, 2]
    np.testing.assert_array_equal(torch.cat([b[0] for b in batches]).numpy(), [[i, i * i] for i in range(10)])
    np.testing.assert_array_equal(torch.cat([b[1] for b in batches]).numpy(), np.arange(10))
    assert [len(b[1]) for b in data.DataLoader(Squares(), batch_size=4, drop_last=True, num_workers=workers)] == [4, 4]


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable(workers):
    found = [b.tolist() for b in data.DataLoader(Stream(), batch_size=3, num_workers=workers)]
    assert sorted(i for b in found for i in b) == list(range(7))
    if not workers:
        assert found == [[0, 1, 2], [3, 4, 5], [6]]


def test_worker_errors_come_back():
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        next(iter(data.DataLoader(Failing(), num_workers=1)))


def test_persistent_workers():
    loader = data.DataLoader(Squares(), batch_size=5, num_workers=1, persistent_workers=True)
    assert [b[1].tolist() for b in loader] == [b[1].tolist() for b in loader] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_shuffle_follows_the_generator():
    def order():
        return [int(i) for _, i in data.DataLoader(Squares(), shuffle=True, generator=torch.Generator().manual_seed(3))]

    assert order() == order()
    assert sorted(order()) == list(range(10))
    assert order() != list(range(10))


def test_collate():
    batch = data.default_collate(
        [{"a": 1, "b": [1.5, "x"], "p": Point(1, np.ones(2))}, {"a": 2, "b": [2.5, "y"], "p": Point(2, np.zeros(2))}]
    )
    assert batch["a"].tolist() == [1, 2]
    assert batch["a"].dtype == torch.int64
    assert batch["b"][0].dtype == torch.float64
    assert batch["b"][1] == ("x", "y")
    assert isinstance(batch["p"], Point)
    assert batch["p"].y.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    with pytest.raises(
        TypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'object'>"
    ):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])


class Tagged(dict):
    """A dict that holds something besides, and cannot be made from a dict alone."""

    def __init__(self, tag, items):
        super().__init__(items)
        self.tag = tag


class Pinned:
    def pin_memory(self):
        return "pinned"


def _of(item):
    return [Tagged(5, {"a": item}), defaultdict(int, a=item), UserDict(a=item), deque([item]), UserList([item]), (item,),
            Point(item, item), range(1), "s", bytearray(b"a"), memoryview(b"a")]  # fmt: skip


def test_containers_stay_what_they_are():
    pinned = _utils.pin_memory.pin_memory(_of(Pinned()))
    assert pinned == [*_of("pinned")[:7], [0], "s", bytearray(b"a"), [97]] and pinned[0].tag == 5
    assert [*map(type, pinned)] == [
        Tagged,
        defaultdict,
        UserDict,
        deque,
        UserList,
        tuple,
        Point,
        list,
        str,
        bytearray,
        list,
    ]
    converted = data.default_convert(_of(np.float32(2)))
    assert converted == [*_of(2.0)[:5], [2.0], Point(2.0, 2.0), [0], "s", bytearray(b"a"), [97]]
    assert converted[0].tag == 5 and isinstance(converted[0]["a"], torch.Tensor)
    batch = data.default_collate([_of(1), _of(1)])
    assert [*map(type, batch)] == [Tagged, defaultdict, UserDict, deque, UserList, list, Point, list, tuple, list, list]
    assert batch[0]["a"].tolist() == batch[5][0].tolist() == batch[6].y.tolist() == [1, 1] and batch[9][0].tolist() == [
        97,
        97,
    ]
    text = np.array(["a"])
    assert data.default_convert(text) is text


def test_the_exact_type_goes_before_its_bases():
    def says(what):
        return lambda batch, *, collate_fn_map: what

    collate = _utils.collate.collate
    assert collate([3], collate_fn_map={(float, int): says("either"), int: says("int")}) == "int"
    assert collate([True], collate_fn_map={(float, int): says("either"), int: says("int")}) == "either"


def test_datasets():
    tensors = data.TensorDataset(torch.arange(4), torch.arange(4) * 2)
    assert [x.item() for x in tensors[3]] == [3, 6]
    both = data.ConcatDataset([tensors, tensors])
    assert len(both) == 8
    assert both[5][0].item() == 1
    assert both[-1][1].item() == 6
    assert len(data.Subset(tensors, [1, 2])) == 2
    parts = data.random_split(range(10), [0.5, 0.3, 0.2], torch.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [5, 3, 2]
    assert sorted(x for p in parts for x in p) == list(range(10))
    with pytest.warns(UserWarning, match="Length of split at index 2 is 0."):
        assert [len(p) for p in data.random_split(range(2), [1 / 3] * 3)] == [1, 1, 0]
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(10), [5, 6])
    assert data.StackDataset(a=[1, 2], b=[3, 4])[1] == {"a": 2, "b": 4}
    assert data.StackDataset([1, 2], [3, 4]).__getitems__([1, 0]) == [(2, 4), (1, 3)]
    for given, named, text in [
        ((), {}, "At least one"),
        (([1],), {"a": [1]}, "both types"),
        (([1], [1, 2]), {}, "Size mismatch"),
    ]:
        with pytest.raises(ValueError, match=text):
            data.StackDataset(*given, **named)


def test_samplers():
    assert list(data.BatchSampler(data.SequentialSampler(range(5)), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    weighted = data.WeightedRandomSampler([0.0, 1.0, 0.0], 5)
    assert list(weighted) == [1] * 5
    assert sorted(data.SubsetRandomSampler([3, 5, 7])) == [3, 5, 7]
    drawn = list(data.RandomSampler(range(4), replacement=True, num_samples=40))
    assert len(drawn) == 40
    assert set(drawn) <= set(range(4))

    def order(**settings):
        return list(data.RandomSampler(range(5), generator=torch.Generator().manual_seed(3), **settings))

    assert order(num_samples=7) == [1, 0, 3, 4, 2, 0, 1]
    assert "".join(map(str, order(replacement=True, num_samples=34))) == "1322000014410414040414112324400143"
    for made, error, text in [
        (
            lambda: data.RandomSampler([]),
            ValueError,
            "num_samples should be a positive integer value, but got num_samples=0",
        ),
        (lambda: data.RandomSampler([1], 3), TypeError, "replacement should be a boolean value, but got replacement=3"),
        (
            lambda: data.WeightedRandomSampler([1.0], True),
            ValueError,
            "positive integer value, but got num_samples=True",
        ),
        (
            lambda: data.WeightedRandomSampler([[1.0]], 1),
            ValueError,
            "weights should be a 1d sequence but given weights have shape",
        ),
        (lambda: data.BatchSampler([1], 1, 1), ValueError, "drop_last should be a boolean value, but got drop_last=1"),
    ]:
        with pytest.raises(error, match=text):
            made()
    parts = [list(data.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    assert parts == [[0, 2, 4], [1, 3, 0]]


def test_arguments():
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        data.DataLoader(Squares(), shuffle=True, sampler=data.SequentialSampler(range(10)))
    with pytest.raises(ValueError, match="expected unspecified sampler option"):
        data.DataLoader(Stream(), sampler=data.SequentialSampler(range(10)))
    with pytest.raises(ValueError, match="prefetch_factor option"):
        data.DataLoader(Squares(), prefetch_factor=2)


def test_settings_are_fixed_once_a_loader_is_made():
    loader = data.DataLoader(Squares())
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=f"^{name} attribute should not be set after DataLoader is initialized$"):
            setattr(loader, name, {})
    with pytest.raises(ValueError, match="multi-process loading \\(num_workers > 0\\), but got num_workers=0"):
        data.DataLoader(Squares(), multiprocessing_context="fork")
    with pytest.raises(ValueError, match="should specify a valid start method in"):
        data.DataLoader(Squares(), num_workers=1, multiprocessing_context="bad")
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid context"):
        data.DataLoader(Squares(), num_workers=1, multiprocessing_context=object())
    with pytest.warns(UserWarning, match="excessive worker creation might get DataLoader running slow or even freeze"):
        data.DataLoader(Squares(), num_workers=100000)


class Two(data.IterableDataset):
    def __iter__(self):
        worker = data.get_worker_info()
        return iter(range(worker.id, 4, worker.num_workers))

    def __len__(self):
        return 1


def test_persistent_workers_start_an_iterable_data_set_again():
    loader = data.DataLoader(Two(), batch_size=None, num_workers=2, persistent_workers=True)
    epochs, workers = [], None
    for _ in range(3):
        it = iter(loader)
        epochs.append(sorted(int(x) for x in it))
        assert workers is None or workers == [w.pid for w in it._workers]
        workers = [w.pid for w in it._workers]
    assert epochs == [[0, 1, 2, 3]] * 3


def test_more_than_the_length_that_an_iterable_data_set_told():
    loader = data.DataLoader(Two(), batch_size=None, num_workers=1)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1\\(when accessing len\\(dataloader\\)\\), but 2 samples"):
        list(loader)


class Killed(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed():
    it = iter(data.DataLoader(Killed(), num_workers=1))
    with pytest.raises(RuntimeError, match="DataLoader worker \\(pid\\(s\\) \\d+\\) exited unexpectedly") as caught:
        next(it)
    assert "is killed by signal: Killed" in str(caught.value.__cause__)


def test_worker_info_is_read_only():
    from shim_torch.utils.data._utils.worker import WorkerInfo

    info = WorkerInfo(id=0, num_workers=2, seed=3, dataset=None)
    assert repr(info) == "WorkerInfo(id=0, num_workers=2, seed=3, dataset=None)"
    with pytest.raises(RuntimeError, match="Cannot assign attributes to WorkerInfo objects"):
        info.id = 1
