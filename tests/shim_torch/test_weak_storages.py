"""Weak references to storages, as torch.multiprocessing.reductions.StorageWeakRef keeps them."""

import shim_torch as torch
from shim_torch.multiprocessing.reductions import StorageWeakRef


def test_a_reference_ends_with_the_storage_and_not_with_its_object():
    x = torch.arange(4.0)
    weak, other = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x.storage())
    assert weak == other and hash(weak) == hash(other) and not weak.expired()
    view = x.view(2, 2)
    del x
    again = torch.UntypedStorage._new_with_weak_ptr(weak.cdata)
    assert again.data_ptr() == view.data_ptr() and view.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    del again, view
    assert weak.expired() and other.expired()
    assert torch.UntypedStorage._new_with_weak_ptr(weak.cdata) is None


def test_other_memory_by_a_resize_is_the_same_storage():
    x = torch.arange(4.0)
    weak = StorageWeakRef(x.untyped_storage())
    x.untyped_storage().resize_(1024)
    assert not weak.expired() and x.tolist() == [0.0, 1.0, 2.0, 3.0]
    again = StorageWeakRef.from_weakref(x.untyped_storage()._weak_ref())
    assert again == weak
    del x
    assert weak.expired()


def test_storages_are_told_apart():
    x, y = torch.ones(2), torch.ones(2)
    assert StorageWeakRef(x.untyped_storage()) != StorageWeakRef(y.untyped_storage())
    assert StorageWeakRef(x[:1].untyped_storage()) == StorageWeakRef(x[1:].untyped_storage())
