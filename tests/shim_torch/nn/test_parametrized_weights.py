"""Weights with old hooks, parametrized ones, fused normalisation and packed sequences. Facts of PyTorch 2.13."""

import copy
from collections import OrderedDict

import pytest

import shim_torch as torch
from shim_torch.nn.utils import (
    fusion,
    parametrizations,
    parametrize,
    remove_spectral_norm,
    remove_weight_norm,
    rnn,
    spectral_norm,
    weight_norm,
)

nn = torch.nn
warned = pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")


def square():
    made = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[3.0, 0.0], [4.0, 5.0]]))
    return made


def names(module):
    return [name for name, _ in module.named_parameters()]


def near(got, wanted):
    return torch.allclose(got, torch.tensor(wanted, dtype=got.dtype), atol=1e-5)


@warned
@pytest.mark.parametrize(("dim", "lengths"), [(0, [[3.0], [41**0.5]]), (1, [[5.0, 5.0]]), (None, 50**0.5)])
def test_old_weight_norm(dim, lengths):
    made = square()
    weight = made.weight.detach().clone()
    weight_norm(made, dim=dim)
    assert near(made.weight_g, lengths) and torch.equal(made.weight_v, weight) and near(made.weight, weight.tolist())
    with torch.no_grad():
        made.weight_g.mul_(2.0)
    assert near(made(torch.eye(2)), (2 * weight.T).tolist()) and names(made) == ["weight_g", "weight_v"]
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks on the same parameter weight"):
        weight_norm(made)
    remove_weight_norm(made)
    assert names(made) == ["weight"] and near(made.weight, (2 * weight).tolist())
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        remove_weight_norm(made)


@warned
@pytest.mark.parametrize(("norm", "name"), [(weight_norm, "WeightNorm"), (spectral_norm, "SpectralNorm")])
def test_old_norms_need_a_shape(norm, name):
    what = "weight" if norm is weight_norm else "spectral"
    words = f"passed to `{name}` can't have uninitialized parameters. .* before applying {what} normalization"
    with pytest.raises(ValueError, match=words):
        norm(nn.LazyLinear(3))


def test_old_spectral_norm():
    made = spectral_norm(square(), n_power_iterations=50)
    assert names(made) == ["weight_orig"] and sorted(made._buffers) == ["weight_u", "weight_v"]
    expected = torch.tensor([[3.0, 0.0], [4.0, 5.0]]) / 45**0.5  # its largest singular value
    assert torch.allclose(made(torch.eye(2)).T, expected, atol=1e-5)
    u = made.weight_u.clone()
    made.eval()(torch.eye(2))
    assert torch.equal(u, made.weight_u)
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same parameter weight"):
        spectral_norm(made)
    remove_spectral_norm(made)
    assert names(made) == ["weight"] and not made._buffers and not made._state_dict_hooks
    assert torch.allclose(made.weight, expected, atol=1e-5)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in Linear"):
        remove_spectral_norm(made)
    with pytest.raises(ValueError, match="`SpectralNorm` cannot be applied as parameter `bias` is None"):
        spectral_norm(made, "bias")
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive, but got n_power_iterations=0"):
        spectral_norm(made, n_power_iterations=0)


class OwnTransposed(nn.ConvTranspose2d):
    pass


@pytest.mark.parametrize(
    ("kind", "sizes"), [(nn.Conv2d, (3, 8)), (nn.ConvTranspose2d, (3, 8)), (OwnTransposed, (3, 8)), (nn.Conv1d, (3, 4))]
)
def test_the_outputs_of_a_layer_are_its_rows(kind, sizes):
    made = spectral_norm(kind(2, 3, 2))
    assert (made.weight_u.numel(), made.weight_v.numel()) == sizes
    ours = parametrizations.spectral_norm(kind(2, 3, 2)).parametrizations.weight[0]
    assert (ours._u.numel(), ours._v.numel()) == sizes


def old_state(made, *without):
    """A state as the hook's first version stored it: u and the weight itself, and no v."""
    state = OrderedDict(made.state_dict(), weight=made.weight.detach().clone())
    for name in ("weight_v", *without):
        del state[name]
    state._metadata = OrderedDict({"": {"version": 1}})
    return state


def test_states_of_the_first_spectral_norm():
    made = square()
    with torch.no_grad():
        made.weight.add_(1.0)
    spectral_norm(made)(torch.eye(2))
    loaded = spectral_norm(square())
    assert loaded.load_state_dict(old_state(made)).missing_keys == []
    assert torch.allclose(loaded.eval()(torch.eye(2)), made.eval()(torch.eye(2)), atol=1e-4)
    with pytest.raises(RuntimeError, match='Missing key.*"weight_u"'):
        loaded.load_state_dict(old_state(made, "weight_u"))
    new = OrderedDict(made.state_dict())  # without its metadata it is known by what it holds
    assert loaded.load_state_dict(new).missing_keys == [] and torch.equal(loaded.weight_v, made.weight_v)
    assert made.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}


def batch_norm(features, kind=nn.BatchNorm2d, affine=True):
    made = kind(features, affine=affine).eval()
    made.running_mean.copy_(torch.arange(features) * 0.3 - 1)
    made.running_var.copy_(torch.arange(features) * 0.7 + 0.2)
    if affine:
        with torch.no_grad():
            made.weight.copy_(torch.arange(features) * 0.9 - 1)
            made.bias.copy_(torch.arange(features) * -0.4 + 0.3)
    return made


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_fused_convolutions(kind, bias, affine):
    layer, norm, x = kind(2, 3, 2, bias=bias).eval(), batch_norm(3, affine=affine), torch.randn(2, 2, 4, 4)
    fused = fusion.fuse_conv_bn_eval(layer, norm, transpose=kind is nn.ConvTranspose2d)
    assert torch.allclose(fused(x), norm(layer(x)), atol=1e-4)
    assert type(fused) is kind and fused is not layer and (layer.bias is None) == (not bias)
    assert fused.weight.requires_grad and fused.bias.requires_grad == bias
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        fusion.fuse_conv_bn_eval(layer, norm.train())


def test_fused_linear_layers():
    layer, norm = nn.Linear(4, 3).eval().requires_grad_(False), batch_norm(3, nn.BatchNorm1d)
    fused, x = fusion.fuse_linear_bn_eval(layer, norm), torch.randn(5, 4)
    assert torch.allclose(fused(x), norm(layer(x)), atol=1e-5) and not fused.weight.requires_grad
    with pytest.raises(AssertionError, match="got linear.out_features=3 and bn.num_features=2"):
        fusion.fuse_linear_bn_eval(layer, batch_norm(2, nn.BatchNorm1d))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("total", [None, 6])
def test_packing_and_back(batch_first, total):
    x = torch.arange(1.0, 25.0).reshape(4, 3, 2)
    given = x.transpose(0, 1) if batch_first else x
    packed = rnn.pack_padded_sequence(given, [2, 4, 1], batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    assert packed.data[:3, 0].tolist() == [3.0, 1.0, 5.0]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first, -1.0, total)
    rows = padded if batch_first else padded.transpose(0, 1)
    assert lengths.tolist() == [2, 4, 1] and rows.shape == (3, total or 4, 2)
    for i, n in enumerate([2, 4, 1]):
        assert torch.equal(rows[i, :n], x[:n, i]) and bool((rows[i, n:] == -1.0).all())
    with pytest.raises(ValueError, match="got total_length=3 and max sequence length being 4"):
        rnn.pad_packed_sequence(packed, total_length=3)


def test_packed_sequences_move_whole():
    packed = rnn.pack_padded_sequence(torch.ones(4, 3, 2), [2, 4, 1], enforce_sorted=False)
    assert packed.to("cpu") is packed and packed.to(torch.float32) is packed
    moved = packed.to(dtype=torch.float64)
    assert type(moved) is rnn.PackedSequence and moved.data.dtype == torch.float64
    assert moved.sorted_indices is packed.sorted_indices and moved.batch_sizes is packed.batch_sizes
    plain = rnn.pack_padded_sequence(torch.ones(4, 3, 2), [4, 2, 1])
    assert plain.to(torch.float64).sorted_indices is None


class Half(nn.Module):
    """Half of each of two originals."""

    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return self.given(x) if hasattr(self, "given") else (x / 2, x / 2)


class Double(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return self.given(x) if hasattr(self, "given") else x / 2


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (Double, lambda x: 3, "`right_inverse` should return a tensor. Got int"),
        (
            Double,
            lambda x: x.double(),
            "The tensor returned by `right_inverse` has dtype torch.float64 while `original` has",
        ),
        (Half, lambda x: 3, "must return a sequence of tensors. Got int"),
        (Half, lambda x: [x], "must return a sequence of tensors of length 2. Got a sequence of length 1."),
        (Half, lambda x: [x, 3], "must return a sequence of tensors .*Got element 1 of type int"),
        (
            Half,
            lambda x: [x, x.double()],
            "Tensor 1 returned by `right_inverse` has dtype torch.float64 while `original1`",
        ),
    ],
)
def test_what_an_assignment_refuses(kind, given, words):
    made, rule = square(), kind()
    parametrize.register_parametrization(made, "weight", rule)
    rule.given = given
    with pytest.raises(ValueError, match=words):
        made.weight = torch.ones(2, 2)


def test_assignments_go_back_through_several():
    made = square()
    parametrize.register_parametrization(made, "weight", Half())
    parametrize.register_parametrization(made, "weight", Double())
    made.weight = torch.ones(2, 2)
    assert made.weight.tolist() == [[1.0, 1.0]] * 2
    assert made.parametrizations.weight.original0.tolist() == [[0.25, 0.25]] * 2
    parametrize.register_parametrization(made, "weight", nn.Identity())
    with pytest.raises(RuntimeError, match="parametrization Identity does not implement right_inverse"):
        made.weight = torch.ones(2, 2)


class WithCopy(nn.Linear):
    def __deepcopy__(self, memo):
        return "its own copy"


class WithSlot(nn.Module):
    __slots__ = ("kept",)

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.kept = [5]


def test_copies_of_parametrized_modules():
    copied = copy.deepcopy(parametrize.register_parametrization(WithSlot(), "weight", Double()))
    assert copied.kept == [5] and copied.weight.tolist() == [[1.0, 1.0]] * 2
    assert copy.deepcopy(parametrize.register_parametrization(WithCopy(2, 2), "weight", Double())) == "its own copy"


def test_the_class_of_a_parametrized_module():
    made = parametrize.register_parametrization(square().eval(), "weight", Double())
    assert type(made).__name__ == "ParametrizedLinear" and isinstance(type(made).__dict__["weight"], property)
    assert parametrize.type_before_parametrizations(made) is nn.Linear
    assert not made.parametrizations.weight[0].training
    with parametrize.cached():
        assert made.weight is made.weight and len(parametrize._cache) == 1
    assert made.weight is not made.weight and not parametrize._cache


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal_matrices_can_be_assigned(shape):
    made = nn.Module()
    made.weight = nn.Parameter(torch.randn(shape, dtype=torch.float64))
    parametrizations.orthogonal(made)
    wanted = made.weight.detach().flip(-1)
    made.weight = wanted
    assert torch.allclose(made.weight, wanted)
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
        made.weight = torch.ones(5, 5)


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("bias", None, "Expected a matrix or batch of matrices. Got a tensor of 1 dimensions."),
        ("none", None, "has no parameter or buffer with name 'none'"),
        ("weight", "other", 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: other'),
    ],
)
def test_what_orthogonal_refuses(name, how, words):
    with pytest.raises(ValueError, match=words):
        parametrizations.orthogonal(nn.Linear(2, 2), name, how)
