"""Meta tensors like real ones, as torch._subclasses.meta_utils makes them."""

import pytest

import shim_torch as torch
from shim_torch._subclasses.meta_utils import MetaConverter, assert_eq, assert_metadata_eq


def views():
    base = torch.arange(24.0).reshape(2, 3, 4)
    graph = torch.randn(8, requires_grad=True)
    leaf_view = torch.zeros(8).view(2, 4)
    leaf_view.requires_grad = True
    pairs = torch.randn(4, dtype=torch.complex64)
    return {
        "plain": base,
        "transposed": base.transpose(0, 2),
        "offset": base[1:, 1],
        "sparse strides": torch.empty_strided((2, 2), (4, 2)),
        "channels last": torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "leaf": graph,
        "view of leaf": graph[2:],
        "result": graph.neg(),
        "view of result": graph.neg()[1:],
        "view of a view that is a leaf": leaf_view.view(2, 2, 2),
        "real": pairs.real,
        "imag": pairs.imag,
        "view_as_real": torch.view_as_real(pairs),
        "view_as_complex": torch.view_as_complex(torch.randn(4, 2)),
        "other dtype": base.view(torch.int32),
        "conj": pairs.conj(),
        "neg bit": pairs.conj().imag,
    }


@pytest.mark.parametrize("name", list(views()))
def test_a_meta_tensor_is_like_its_tensor(name):
    t = views()[name]
    m = MetaConverter()(t)
    assert m.device.type == "meta"
    assert_metadata_eq(assert_eq, m, t)


def test_views_share_memory_and_a_tensor_is_converted_once():
    x = torch.zeros(6)
    converter = MetaConverter()
    a, b = converter(x[:2]), converter(x[3:])
    assert a._base is b._base and a._base is converter(x)
    assert b.storage_offset() == 3 and a.untyped_storage()._cdata == b.untyped_storage()._cdata
    assert a.untyped_storage().nbytes() == 24
    assert converter(5) == 5 and converter.successful()


def test_what_it_keeps_dies_with_the_tensors():
    converter = MetaConverter()
    x = torch.randn(3)
    y = converter(x)
    assert len(converter.tensor_memo) == len(converter.storage_memo) == 1
    assert len(converter.describer.lookup_tensor) == len(converter.describer.lookup_storage) == 1
    del x
    assert len(converter.describer.lookup_tensor) == len(converter.describer.lookup_storage) == 0
    del y
    assert len(converter.tensor_memo) == len(converter.storage_memo) == 0


def test_the_gradient_goes_along():
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    m = MetaConverter()(x)
    assert m.requires_grad and m.is_leaf and m.grad.shape == (3,) and m.grad.device.type == "meta"
    with pytest.raises(AssertionError):
        assert_metadata_eq(assert_eq, m, torch.ones(3))


def test_functional_serves_what_torch_has_there():
    assert torch.functional.unique is torch.unique and torch.functional.istft is torch.istft
