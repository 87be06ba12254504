"""Sequences multiplied, arguments of layers and losses refused, buffers replaced; texts and values are PyTorch's."""

from __future__ import annotations

import pickle
import re
import sys
import warnings

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn import functional as F

rand = torch.rand


def test_sequences_are_multiplied():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert [type(m).__name__ for m in s * 2] == ["ReLU", "Tanh"] * 2 and len(3 * s) == 6
    s *= 2
    assert list(s._modules) == ["0", "1", "2", "3"] and s[2] is s[0]
    with pytest.raises(
        ValueError, match="Non-positive multiplication factor 0 for <class 'torch.nn.modules.container.Sequential'>"
    ):
        s * 0
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \*: <class '.*Sequential'> and <class 'str'>"
    ):
        s *= "a"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: F.cosine_embedding_loss(rand(0, 0), rand(0), rand(0)), RuntimeError,
         "1D target tensor expects 2D input tensors, but found inputs with sizes [0, 0] and [0]."),
        (lambda: F.cosine_embedding_loss(rand(2, 3), rand(2, 3), rand(2, 2)), RuntimeError,
         "0D or 1D target tensor expected, multi-target not supported"),
        (lambda: F.cosine_similarity(rand(2, 3), rand(2, 3), eps=-1.0), RuntimeError, "eps must be non-negative, got: -1"),
        (lambda: F.gaussian_nll_loss(rand(3, 5), rand(3, 5), torch.ones(3, 3)), ValueError, "var is of incorrect size"),
        (lambda: F.gaussian_nll_loss(rand(3, 5), rand(3, 5), -1.0), ValueError, "var has negative entry/entries"),
        (lambda: F.gaussian_nll_loss(rand(3), rand(3), rand(3), reduction="x"), ValueError, "x is not valid"),
        (lambda: F.binary_cross_entropy(torch.full((2,), -1.0), rand(2)), RuntimeError,
         "all elements of input should be between 0 and 1"),
        (lambda: F.binary_cross_entropy(rand(2), torch.full((2,), 3.0)), RuntimeError,
         "all elements of target should be between 0 and 1"),
        (lambda: nn.Fold((4, 5), (2, 2), dilation=8)(rand(1, 12, 12)), RuntimeError,
         "calculated shape of the array of sliding blocks as (-4, -3), which is too small (non-positive)"),
        (lambda: nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.5, 0.5))(rand(1, 2, 8, 8)), ValueError,
         "fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints."),
        (lambda: nn.Unflatten(1, "a"), TypeError, "unflattened_size must be a tuple of ints, but found type str"),
        (lambda: nn.Unflatten(1, (2, 2.0)), TypeError,
         "unflattened_size must be tuple of ints, but found element of type float at pos 1"),
        (lambda: F.interpolate(rand(1, 1, 4), size=[2.5]), TypeError,
         "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types [<class 'float'>]"),
        (lambda: torch.native_channel_shuffle(rand(1, 3, 2, 2), 2), RuntimeError,
         "Number of channels must be divisible by groups. Got 3 channels and 2 groups."),
        (lambda: torch.batch_norm_update_stats(rand(0, 1), rand(1), rand(1), 0.0), RuntimeError,
         "input tensor must have at least one element, but got input_sizes = [0, 1]"),
    ],
)  # fmt: skip
def test_refused(call, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_variances_of_other_shapes():
    one, zero = torch.ones(3, 5), torch.zeros(3, 5)
    assert F.gaussian_nll_loss(one, zero, 2.0).item() == pytest.approx(0.59657, abs=1e-5)
    for shape in ((3,), (3, 1), (3, 5)):
        assert F.gaussian_nll_loss(one, zero, torch.ones(shape)).item() == 0.5


def test_probabilities_of_no_classes():
    assert F.cross_entropy(rand(5, 0), rand(5, 0)).isnan()


def test_unit_grids_warn():
    text = "See the documentation of affine_grid for details."
    with pytest.warns(UserWarning, match=text):
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 1), align_corners=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 1), align_corners=False)


def test_buffers_replaced_change_whether_they_are_saved():
    m = nn.Module()
    m.buf = nn.Buffer(rand(5), persistent=False)
    m.buf = nn.Buffer(rand(5))
    assert len(m.state_dict()) == 1
    m.buf = nn.Buffer(rand(5), persistent=False)
    assert len(m.state_dict()) == 0 and len(list(m.buffers())) == 1

    class TwoParameters(nn.Linear):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    layer = TwoParameters(2, 2)
    layer.bar = nn.Buffer(rand(2, 2))
    assert "bar" in layer.state_dict()


def test_extra_state_that_nobody_takes():
    class Gives(nn.Module):
        def get_extra_state(self):
            return {"foo": 5}

    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "_extra_state"'):
        Gives().load_state_dict(Gives().state_dict())
    assert Gives().load_state_dict(Gives().state_dict(), strict=False).unexpected_keys == ["_extra_state"]


@pytest.mark.parametrize("name", ["relu", "silu", "leaky_relu", "hardtanh", "elu", "soft_margin_loss"])
def test_functions_are_pickled_by_name(name, monkeypatch):
    for ours in [ours for ours in sys.modules if ours.split(".")[0] == "shim_torch"]:
        monkeypatch.setitem(sys.modules, "torch" + ours[len("shim_torch") :], sys.modules[ours])
    function = getattr(F, name)
    data = pickle.dumps(function)
    assert b"torch" in data and b"shim_torch" not in data and pickle.loads(data) is function


def test_statistics_and_shuffled_channels():
    mean, variance = torch.zeros(2), torch.ones(2)
    found = torch.batch_norm_update_stats(torch.arange(6.0).reshape(3, 2), mean, variance, 0.1)
    assert found[0].tolist() == [2.0, 3.0] and found[1].tolist() == pytest.approx([2.66667, 2.66667], abs=1e-5)
    assert mean.tolist() == pytest.approx([0.2, 0.3]) and variance.tolist() == pytest.approx([1.3, 1.3])
    x = torch.arange(12.0).reshape(1, 4, 3, 1)
    assert torch.native_channel_shuffle(x, 2).flatten().tolist() == [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]


def test_a_sparse_gradient_keeps_what_was_looked_up():
    table, index = nn.Embedding(10, 3, sparse=True), torch.tensor([7, 1, 3])
    table(index).sum().backward()
    index[0] = 8
    assert table.weight.grad._indices().tolist() == [[7, 1, 3]]


def test_places_of_modules_and_buffers_that_are_taken():
    m = nn.Module()
    m.w, m.inner = 5, nn.Module()
    with pytest.raises(AttributeError, match="`w` is not an nn.Module"):
        m.set_submodule("w", nn.ReLU())
    with pytest.raises(KeyError, match="attribute 'w' already exists"):
        m.w = nn.Buffer(rand(1))
    with pytest.raises(RuntimeError, match=r"\.to\(\) does not accept copy argument"):
        m.to("cpu", copy=True)

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    one, two = Like(), Like()
    m.register_buffer("like", one)
    assert m.like is one
    m.like = two
    assert m.get_buffer("like") is two


@pytest.mark.parametrize(
    ("args", "got"),
    [
        (("cpu", True), "str, bool"),
        ((None, True), "NoneType, bool"),
        (("cpu", torch.ones(1)), "str, Tensor"),
        ((torch.float64, "cpu"), "torch.dtype, str"),
        (([],), "list"),
        (("cpu", torch.float64, 1), "str, torch.dtype, int"),
    ],
)
def test_where_modules_can_not_go(args, got):
    with pytest.raises(TypeError) as caught:
        nn.Linear(1, 1).to(*args)
    rest = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
    assert str(caught.value) == (
        f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        f" * (torch.device device = None, torch.dtype dtype = None, {rest} * (torch.dtype dtype, {rest} * (Tensor tensor, {rest}"
    )
    with pytest.raises(TypeError, match="takes from 0 to 4 positional arguments but 5 were given"):
        nn.Linear(1, 1).to("cpu", torch.float64, True, False, 3)
    assert nn.Linear(1, 1).to("cpu", torch.float64, True).weight.dtype == torch.float64
    assert nn.Linear(1, 1).to(torch.ones(1, dtype=torch.float64), True).weight.dtype == torch.float64


def test_gradients_at_a_bound_that_half_precision_rounds():
    """0.1 is less than bfloat16's nearest number, and more than float16's: PyTorch 2.13 compares with 0.1 itself on a CPU."""
    for dtype, through in ((torch.bfloat16, 1.0), (torch.float16, 0.0)):
        x = torch.tensor([0.1], dtype=dtype, requires_grad=True)
        torch.nn.functional.threshold(x, 0.1, 20.0).sum().backward()
        assert x.grad.item() == through
        x.grad = None
        torch.nn.functional.hardtanh(x, -0.1, 0.1).sum().backward()
        assert x.grad.item() == 1.0 - through
