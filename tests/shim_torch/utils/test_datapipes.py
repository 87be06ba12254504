"""``torch.utils.data.datapipes``: steps, their functional forms, one iterator at a time, loaders over them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.utils.data import DataChunk, DataLoader, IterDataPipe, MapDataPipe, default_collate, functional_datapipe
from shim_torch.utils.data.datapipes.iter import IterableWrapper, Sampler
from shim_torch.utils.data.datapipes.map import SequenceWrapper
from shim_torch.utils.data.graph import traverse_dps
from shim_torch.utils.data.graph_settings import apply_sharding, apply_shuffle_settings, get_all_graph_pipes


def twice(x):
    return 2 * x


def even(x):
    return x % 2 == 0


def test_steps():
    pipe = IterableWrapper(range(10)).map(twice).filter(even)
    assert repr(pipe) == "FilterIterDataPipe" and list(pipe) == list(range(0, 20, 2)) == list(pipe)
    batches = list(IterableWrapper(range(5)).batch(2))
    assert batches == [[0, 1], [2, 3], [4]] and isinstance(batches[0], DataChunk)
    assert list(IterableWrapper(range(5)).batch(2, drop_last=True).unbatch()) == [0, 1, 2, 3]
    assert list(IterableWrapper([[[1], [2]], [[3]]]).unbatch(unbatch_level=-1)) == [1, 2, 3]
    a, b = IterableWrapper([3, 1]), IterableWrapper([5, 6, 7])
    assert (
        list(a.concat(b)) == [3, 1, 5, 6, 7] and list(a.zip(b)) == [(3, 5), (1, 6)] and list(a.mux(b)) == [3, 5, 1, 6]
    )
    assert len(a.concat(b)) == 5 and len(a.zip(b)) == 2 and len(b.batch(2)) == 2 and len(b.map(twice)) == 3
    with pytest.raises(TypeError, match="len"):
        len(pipe)
    assert list(Sampler(b)) == [0, 1, 2]
    collated = list(IterableWrapper([[1, 2], [3, 4]]).collate())
    assert [[int(t) for t in row] for row in collated] == [[1, 2], [3, 4]]


def test_columns():
    rows = IterableWrapper([(1, 2), (3, 4)])
    assert list(rows.map(twice, input_col=1)) == [(1, 4), (3, 8)]
    assert list(rows.map(twice, input_col=0, output_col=-1)) == [(1, 2, 2), (3, 4, 6)]
    assert list(rows.map(lambda x, y: x + y, input_col=[0, 1], output_col=1)) == [(1, 3), (3, 7)]
    assert list(rows.filter(lambda y: y > 2, input_col=1)) == [(3, 4)]
    with pytest.raises(ValueError, match="Boolean output is required"):
        list(rows.filter(lambda row: row))
    with pytest.raises(ValueError, match="`output_col` must be None"):
        rows.map(twice, output_col=1)


def test_one_iterator_at_a_time():
    pipe = IterableWrapper(range(5)).map(twice)
    first = iter(pipe)
    assert next(first) == 0
    second = iter(pipe)
    assert next(second) == 0
    with pytest.raises(RuntimeError, match="This iterator has been invalidated"):
        next(first)
    assert list(second) == [2, 4, 6, 8]


def test_pipes_of_users():
    class Base(IterDataPipe):
        def __iter__(self):
            yield from (1, 2)

    class More(Base):
        def __iter__(self):
            yield 0
            yield from super().__iter__()

    class Self(IterDataPipe):
        def __iter__(self):
            self.left = 3
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

    assert list(More()) == [0, 1, 2] and list(Self()) == [2, 1, 0]

    @functional_datapipe("plus_of_a_test")
    class Plus(IterDataPipe):
        def __init__(self, source, n):
            self.source, self.n = source, n

        def __iter__(self):
            for x in self.source:
                yield x + self.n

    assert list(IterableWrapper([1, 2]).plus_of_a_test(3)) == [4, 5]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("plus_of_a_test")(Base)
    with pytest.raises(TypeError, match="can only decorate"):
        functional_datapipe("nothing")(int)
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        Base().nothing
    assert isinstance(Base(), torch.utils.data.IterableDataset) and not isinstance(Base(), MapDataPipe)


def test_by_key():
    pipe = SequenceWrapper([10, 11, 12]).map(twice)
    assert len(pipe) == 3 and pipe[2] == 24
    assert pipe.batch(2)[1] == [24] and len(pipe.batch(2)) == 2
    both = pipe.zip(SequenceWrapper("ab"))
    assert len(both) == 2 and both[1] == (22, "b") and pipe.concat(pipe)[4] == 22
    with pytest.raises(IndexError):
        pipe.concat(pipe)[6]


def test_shuffling_and_parts():
    pipe = IterableWrapper(range(20)).shuffle(buffer_size=7).sharding_filter()
    torch.manual_seed(3)
    first = list(pipe)
    torch.manual_seed(3)
    assert list(pipe) == first != list(range(20)) and sorted(first) == list(range(20))
    shuffler = pipe.source_datapipe
    one = list(shuffler.set_seed(5))
    assert list(shuffler.set_seed(5)) == one and list(shuffler.set_shuffle(False)) == list(range(20))
    apply_sharding(pipe, 3, 1)
    assert list(pipe) == list(range(1, 20, 3)) and len(pipe) == 7
    assert [type(p).__name__ for p in get_all_graph_pipes(traverse_dps(pipe))] == [
        "ShardingFilterIterDataPipe",
        "ShufflerIterDataPipe",
        "IterableWrapperIterDataPipe",
    ]
    assert apply_shuffle_settings(pipe, None) is pipe and list(pipe) == list(range(1, 20, 3))
    assert apply_shuffle_settings(pipe, True) is pipe and list(pipe) != list(range(1, 20, 3))
    assert apply_shuffle_settings(pipe, False) is pipe and list(pipe) == list(range(1, 20, 3))
    plain = IterableWrapper(range(20))
    assert apply_shuffle_settings(plain, False) is plain
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        added = apply_shuffle_settings(plain, True)
    assert added is not plain and sorted(added) == list(range(20)) != list(added)
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(pipe.sharding_filter(), 2, 0)
    with pytest.raises(ValueError, match="should be smaller than"):
        pipe.apply_sharding(2, 2)
    assert list(pickle.loads(pickle.dumps(pipe))) == list(range(1, 20, 3))


def test_loaders():
    pipe = IterableWrapper(range(12)).shuffle().sharding_filter()
    found = [x for batch in DataLoader(pipe, batch_size=5, shuffle=True) for x in batch.tolist()]
    assert sorted(found) == list(range(12))
    pipe = IterableWrapper(range(12)).shuffle().sharding_filter()
    loader = DataLoader(pipe, batch_size=None, shuffle=False, num_workers=2)
    assert sorted(int(x) for x in loader) == list(range(12)), "each worker has its part"
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(IterableWrapper(range(6)), shuffle=True)
    assert sorted(int(x) for x in loader) == list(range(6))


def test_items_may_be_arrays():
    pipe = IterableWrapper([[1, 2, 3], [1, 2]]).map(_plus_one).filter(_three)
    assert [x.tolist() for x in pipe] == [[2, 3, 4]]
    with pytest.raises(ValueError, match="Boolean output is required for `filter_fn` of FilterIterDataPipe, got"):
        list(IterableWrapper([1]).filter(_plus_one))


def _plus_one(row):
    return np.add(row, 1)


def _three(row):
    return len(row) == 3


def test_batches_of_nested_tensors_are_refused():
    with pytest.raises(
        RuntimeError, match="Batches of nested tensors are not currently supported by the default collate_fn"
    ):
        default_collate([torch.nested.nested_tensor([torch.ones(2)])] * 2)
