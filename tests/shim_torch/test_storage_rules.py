"""Storages without memory, and small things that go with them: values and errors of PyTorch 2.13."""

import copy

import pytest

import shim_torch as torch


def test_typed_storage_on_meta():
    s = torch.TypedStorage([1, 2, 3, 4], device="meta", dtype=torch.float32)
    assert s.resize_(10) is None and len(s) == 10
    assert s.fill_(1).device.type == "meta"
    s[0] = 1
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        s.tolist()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        s.cpu()
    with pytest.raises(TypeError, match="only CPU memory can be pinned"):
        s.pin_memory()
    other = torch.TypedStorage([1, 2, 3, 4], dtype=torch.float32)
    with pytest.raises(RuntimeError, match="size does not match, self was 16 bytes but src was 40 bytes"):
        other.copy_(s)


def test_untyped_storage_on_meta():
    u = torch.UntypedStorage(8, device="meta")
    assert u.clone().nbytes() == 8 and u.clone()._cdata != u._cdata
    assert repr(u) == "...\n[torch.storage.UntypedStorage(device=meta) of size 8]"
    u.resize_(10)
    assert u.nbytes() == 10
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        u.tolist()


def test_untyped_storage_fill():
    assert torch.UntypedStorage(3).fill_(7).tolist() == [7, 7, 7]


def test_geometry_operators():
    t = torch.arange(24).view(2, 3, 4)[:, 1:]
    aten = torch.ops.aten
    assert aten.sym_size.default(t) == [2, 2, 4] and aten.sym_size.int(t, 1) == 2
    assert aten.sym_stride.default(t) == [12, 4, 1] and aten.sym_stride.int(t, 0) == 12
    assert aten.sym_numel.default(t) == 16 and aten.sym_storage_offset.default(t) == 4
    z = aten._new_zeros_with_same_feature_meta(torch.ones(5, 2), torch.ones(3, 4).t(), self_num_batch_dims=1)
    assert z.shape == (5, 4, 3) and z.stride() == (12, 1, 4) and not z.any()


def test_unique_of_two_results():
    values, inverse = torch._unique(torch.tensor([3, 1, 3]), return_inverse=True)
    assert values.tolist() == [1, 3] and inverse.tolist() == [1, 0, 1]


def test_alerts_of_operators_that_may_not_repeat():
    indices = torch.zeros(1, 1, 7, dtype=torch.int64)
    try:
        torch.use_deterministic_algorithms(True)
        with pytest.raises(
            RuntimeError, match="max_unpooling2d_forward_out does not have a deterministic implementation, but"
        ):
            torch.nn.functional.max_unpool1d(torch.ones(1, 1, 7), indices, 3, 1)
        torch.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(
            UserWarning, match="max_unpooling2d_forward_out does not have a deterministic implementation"
        ):
            torch.nn.functional.max_unpool1d(torch.ones(1, 1, 7), indices, 3, 1)
        with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
            torch.use_deterministic_algorithms(False, warn_only=1)
    finally:
        torch.use_deterministic_algorithms(False)


def test_index_of_a_number():
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.ones(()).index_select(0, torch.tensor([1]))
    assert torch.ones(()).index_select(0, torch.tensor([0])).item() == 1


def test_vmap_internals():
    from shim_torch._vmap_internals import _vmap

    assert _vmap(lambda a, b: a * b)(torch.arange(3), torch.arange(3)).tolist() == [0, 1, 4]
    first, none = _vmap(lambda a: (a + 1, None), allow_none_pass_through=True)(torch.arange(3))
    assert first.tolist() == [1, 2, 3] and none is None


def test_pytrees_leave_no_cycles():
    import gc
    import weakref

    from shim_torch.utils._pytree import tree_map

    class Leaf:
        pass

    leaf = Leaf()
    ref = weakref.ref(leaf)
    gc.disable()
    try:
        tree_map(id, [(leaf, 1), {"a": leaf}])
        del leaf
        assert ref() is None
    finally:
        gc.enable()


def test_old_tensor_types_have_no_subclasses():
    with pytest.raises(TypeError, match="type 'torch.FloatTensor' is not an acceptable base type"):
        type("Mine", (torch.FloatTensor,), {})


def test_storages_of_meta_tensors_have_no_values():
    storage = torch.empty(3, device="meta").storage()
    for read in (lambda: storage[0], storage.tolist, lambda: storage.untyped()[0]):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        torch.ones(3).storage().copy_(storage)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        storage.share_memory_()


def test_tensors_from_storages():
    x = torch.tensor([1.0, 2.0])
    assert torch.tensor(x.storage()).tolist() == [1, 2]
    assert torch.tensor(x.untyped_storage(), dtype=torch.float32).tolist() == [1, 2]
    assert x.storage_type() is torch.FloatStorage or x.storage_type().__name__ == "FloatStorage"
    with pytest.raises(RuntimeError, match="Expected a Storage of type Long or an UntypedStorage, but got Float"):
        torch.tensor(x.storage(), dtype=torch.int64)


def test_storages_copy_together_with_tensors():
    x = torch.arange(3.0)
    y, storage = copy.deepcopy([x, x.storage()])
    y.add_(1)
    assert storage.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]
    assert x.storage().__sizeof__() - x[:0].clone().storage().__sizeof__() == 12


def test_a_typed_storage_is_of_one_dtype():
    with pytest.raises(
        RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got type Double"
    ):
        torch.empty(0).set_(torch.ones(2).double().storage())


def test_set_refuses_what_reaches_outside_of_the_storage_and_leaves_the_tensor_as_it_was():
    x, y = torch.arange(12.0), torch.ones(2)
    for offset, sizes, strides, text in (
        (-1, (2,), (1,), "Tensor: invalid storage offset -1"),
        (0, (2, 2), (-1, 1), "Storage size calculation overflowed with sizes=[2, 2] and strides=[-1, 1]"),
        (0, (2,), (1, 1), "unequal size length (1) and stride length (2)"),
        (2**62, (2,), (1,), "Storage size calculation overflowed with sizes=[2] and strides=[1]"),
    ):
        for source in (x, x.untyped_storage()):
            with pytest.raises(RuntimeError) as error:
                y.set_(source, offset, sizes, strides)
            assert str(error.value) == text and y.tolist() == [1, 1] and y._version == 0
    for offset in (2**61, 2**62):
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            torch.as_strided(x, (2,), (1,), offset)
    y.set_(x.untyped_storage(), 5, (3, 4), (4, 1))
    assert y[0].tolist() == [5, 6, 7, 8] and x.untyped_storage().nbytes() == 68


@pytest.mark.parametrize("step", [-1, 2])
def test_bytes_are_assigned_in_steps_of_one(step):
    s = torch.arange(6, dtype=torch.uint8).untyped_storage()
    with pytest.raises(RuntimeError, match=f"Trying to slice with a step of {step}, but only a step of 1 is supported"):
        s[::step] = 9
    s[4:1] = 9
    assert list(s) == [0, 1, 2, 3, 4, 5]
    s[1:-3] = 9
    assert list(s) == [0, 9, 9, 3, 4, 5]


def test_set_warn_always_takes_a_truth():
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        torch.set_warn_always(3)
