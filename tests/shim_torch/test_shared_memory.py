"""CPU tensors in memory that processes share."""

from __future__ import annotations

import gc
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import shim_torch as torch
import shim_torch.multiprocessing as mp


def _add(tasks: Any, results: Any) -> None:
    t = tasks.get()
    t += 1
    results.put(t)
    tasks.get()


def _fill(t: Any, value: float) -> None:
    t.fill_(value)


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request: Any) -> Any:
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_sent_tensor_shares_its_memory_and_comes_back_as_the_same_storage(strategy: str, method: str) -> None:
    context = mp.get_context(method)
    tasks, results = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=_add, args=(tasks, results))
    process.start()
    t = torch.zeros(4)
    tasks.put(t[1:3])
    back = results.get()
    tasks.put(None)
    process.join()
    assert process.exitcode == 0
    assert t.tolist() == [0, 1, 1, 0] and back.tolist() == [1, 1]
    assert t.is_shared() and back.untyped_storage()._cdata == t.untyped_storage()._cdata
    back.fill_(5)
    assert t.tolist() == [0, 5, 5, 0]


def test_share_memory_keeps_values_and_views() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    view = t[1]
    assert not t.is_shared() and t.share_memory_() is t and t.is_shared() and view.is_shared()
    assert t.untyped_storage().is_shared() and t.storage().is_shared()
    t[1, 0] = 9
    assert view.tolist() == [9, 4, 5]
    process = mp.get_context("fork").Process(target=_fill, args=(view, 2.0))
    process.start()
    process.join()
    assert t.tolist() == [[0, 1, 2], [2, 2, 2]]
    with pytest.raises(RuntimeError, match="not resizable"):
        t.untyped_storage().resize_(100)


def test_parameters_and_modules() -> None:
    module = torch.nn.Linear(2, 2).share_memory()
    assert all(p.is_shared() for p in module.parameters())
    made = mp.reductions.ForkingPickler.loads(mp.reductions.ForkingPickler.dumps(module.weight))
    assert isinstance(made, torch.nn.Parameter) and made.requires_grad
    assert made.data_ptr() == module.weight.data_ptr()


def test_a_tensor_with_history_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)


def test_an_empty_tensor_and_typed_storage() -> None:
    loads, dumps = mp.reductions.ForkingPickler.loads, mp.reductions.ForkingPickler.dumps
    assert loads(dumps(torch.empty(0, 3))).shape == (0, 3)
    storage = torch.arange(3, dtype=torch.int32).storage()
    made = loads(dumps(storage))
    assert made.dtype is torch.int32 and list(made) == [0, 1, 2] and made.data_ptr() == storage.data_ptr()


def test_named_files_go_with_their_storage() -> None:
    mp.set_sharing_strategy("file_system")
    try:
        t = torch.ones(3).share_memory_()
        name = Path(t.untyped_storage()._share_filename_cpu_()[1].decode())
        assert name.stat().st_size == 12
        del t
        gc.collect()
        assert not name.exists()
    finally:
        mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("smoke")


def test_descriptors_are_closed() -> None:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("needs /proc")
    before = len(list(folder.iterdir()))
    for _ in range(5):
        torch.ones(3).share_memory_()
    gc.collect()
    assert len(list(folder.iterdir())) == before


def test_plain_pickle_still_copies() -> None:
    t = torch.ones(2).share_memory_()
    made = pickle.loads(pickle.dumps(t))
    assert made.tolist() == [1, 1] and made.data_ptr() != t.data_ptr()
    assert os.getpid() and mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}


def test_memory_of_a_gpu_is_not_rebuilt():
    from shim_torch.multiprocessing import reductions

    with pytest.raises(NotImplementedError, match="rebuild_cuda_tensor"):
        reductions.rebuild_cuda_tensor()
