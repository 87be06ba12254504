"""What storages, generators and the old constructors refuse, and in which words."""

import copy

import pytest

import shim_torch as torch


def untyped():
    return torch.FloatStorage([1, 2]).untyped()


REFUSED = [
    (lambda: torch.TypedStorage(wrap_storage=untyped()), RuntimeError, "Argument 'dtype' must be specified"),
    (
        lambda: torch.TypedStorage(wrap_storage=untyped(), dtype=0),
        TypeError,
        "Argument 'dtype' must be torch.dtype, not <class 'int'>",
    ),
    (
        lambda: torch.TypedStorage(wrap_storage=untyped(), dtype=torch.float32, device="cpu"),
        RuntimeError,
        "Argument 'device' should not be specified",
    ),
    (lambda: torch.TypedStorage(dtype=torch.float32, device="xla"), RuntimeError, "Storage device not recognized: xla"),
    (
        lambda: torch.TypedStorage(torch.ones(1), dtype=torch.float32),
        TypeError,
        "Argument type not recognized: <class 'torch.Tensor'>",
    ),
    (lambda: torch.TypedStorage(0, 0, dtype=torch.float32), RuntimeError, "Too many positional arguments"),
    (
        lambda: torch.FloatStorage(0, 0),
        RuntimeError,
        "<class 'torch.FloatStorage'>.__new__ received an invalid combination",
    ),
    (lambda: torch.FloatStorage(device="cpu"), RuntimeError, "Keyword argument 'device' cannot be specified"),
    (lambda: torch.FloatStorage(dtype=torch.float32), RuntimeError, "Keyword argument 'dtype' cannot be specified"),
    (lambda: torch.FloatStorage(other=1), TypeError, "got an unexpected keyword argument 'other'"),
    (lambda: torch.FloatStorage(0, wrap_storage=untyped()), RuntimeError, "No positional arguments"),
    (lambda: torch.FloatStorage(wrap_storage=torch.FloatStorage(1)), TypeError, "must be UntypedStorage"),
    (lambda: torch.storage._LegacyStorage(3), RuntimeError, "Only child classes of _LegacyStorage can be instantiated"),
    (lambda: torch.cuda.FloatStorage.from_buffer(), RuntimeError, "from_buffer: Not available for CUDA storage"),
    (lambda: torch.FloatStorage(2).fill_(torch.FloatStorage(2)), RuntimeError, "cannot set item with value type"),
    (lambda: torch.Generator("opengl"), RuntimeError, "OPENGL device type not an accelerator."),
    (
        lambda: torch.LongTensor((6, 0), 1, 1),
        TypeError,
        "received an invalid combination of arguments - got .tuple, int, int.",
    ),
    (lambda: torch.LongTensor(6, "a"), TypeError, "failed to unpack the object at pos 2"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_names_that_give_no_warning():
    s = torch.FloatStorage([1, 2, 3])
    s._setitem(slice(0, s._size()), 7)
    assert s._getitem(1) == 7 and s._element_size() == 4 and s._nbytes() == 12 and s._data_ptr() == s.data_ptr()
    assert s._deepcopy({}).tolist() == [7, 7, 7]
    assert torch.ones(2)._typed_storage().tolist() == [1, 1]
    other = copy.copy(s.untyped())
    other.fill_(0)
    assert type(other) is torch.UntypedStorage and s.tolist() == [7, 7, 7] and other.tolist() == [0] * 12
    assert torch.IntTensor.is_sparse is False and "-std=c++" in torch.__config__._cxx_flags()


@pytest.mark.parametrize("name", ["apply_", "map_", "map2_"])
def test_functions_of_elements_have_no_gradient(name):
    x, wants = torch.zeros(2), torch.ones(2, requires_grad=True)
    given = {"apply_": (wants,), "map_": (x, wants), "map2_": (x, x, wants)}[name]
    with pytest.raises(RuntimeError, match=rf"Can't call {name}\(\) on Variable that requires grad. Use var.detach"):
        getattr(given[0], name)(*given[1:], lambda a, *_: a)
