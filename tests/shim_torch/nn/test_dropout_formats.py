"""Dropout keeps the order of its input's memory; collating in a worker shares memory."""

import shim_torch as torch
from shim_torch.utils.data._utils import collate, worker


def test_dropout_follows_the_order_of_memory():
    x = torch.ones(2, 3, 3, 6).to(memory_format=torch.channels_last)
    assert torch.nn.functional.dropout(x, 0.5).stride() == x.stride()
    y = torch.nn.functional.dropout(x[..., ::2], 0.5)
    assert y.stride() == (27, 1, 9, 3) and set(y.flatten().tolist()) == {0.0, 2.0}
    assert torch.nn.functional.dropout(torch.ones(2, 3), 0.5).stride() == (3, 1)


def test_batches_made_in_a_worker_are_shared(monkeypatch):
    items = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]
    assert not collate.default_collate(items).is_shared()
    monkeypatch.setattr(worker, "_worker_info", "x")
    made = collate.default_collate(items)
    assert made.is_shared() and made.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert collate.default_collate([1.0, 2.0]).tolist() == [1.0, 2.0]
