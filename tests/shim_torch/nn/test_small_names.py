"""Names of torch.nn that libraries import, and modules called with other parameters."""

from __future__ import annotations

from collections import namedtuple

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn
from shim_torch.func import functional_call
from shim_torch.nn.common_types import _size_2_t


def test_cross_map_normalisation_has_pytorchs_first_channel():
    x = torch.arange(2 * 7 * 2 * 2.0).reshape(2, 7, 2, 2) / 10
    found = [nn.CrossMapLRN2d(s, 0.1, 0.7, 2.0)(x).flatten()[5].item() for s in (1, 2, 3, 5)]
    expected = [0.30501583218574524, 0.3063933551311493, 0.30400121212005615, 0.3019757866859436]
    assert found == pytest.approx(expected, rel=1e-6)


def test_private_helpers_of_functional():
    mask = F._canonical_mask(torch.tensor([True, False]), "m", None, "o", torch.float32)
    assert mask.tolist() == [-float("inf"), 0.0]
    assert F._none_or_dtype(None) is None and F._none_or_dtype(mask) == torch.float32
    q = torch.randn(2, 1, 4)
    w = torch.randn(12, 4)
    packed = F._in_projection_packed(q, q, q, w)
    assert torch.equal(packed[1], F.linear(q, w[4:8]))
    with pytest.raises(AssertionError, match="expecting key weights shape of"):
        F._in_projection(q, q, q, w[:4], w[:3], w[:4])
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        F._verify_batch_size((1, 3, 1))
    assert F._pair(3) == (3, 3) and F.torch is torch and _size_2_t is not None


def test_gradients_scaled_with_a_norm_that_is_known():
    p = nn.Parameter(torch.ones(2))
    p.grad = torch.tensor([3.0, 4.0])
    nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(5.0))
    assert p.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)


def test_weights_of_convolutions_in_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2))
    nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_batchmean_of_one_dim_divides_by_its_size():
    i, t = torch.tensor([0.1, 0.2]).log(), torch.tensor([0.3, 0.2])
    assert nn.KLDivLoss(reduction="batchmean")(i, t).item() == pytest.approx(0.1648, abs=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("settings", [{"batch_chunk_size": 2}, {}, {"chunking_method": "aspect_ratio:4"}])
def test_linear_cross_entropy_in_chunks(reduction, settings):
    torch.manual_seed(0)
    x = torch.randn(7, 4, requires_grad=True)
    w, b = torch.randn(9, 4, requires_grad=True), torch.randn(9, requires_grad=True)
    target = torch.tensor([0, 3, 8, -100, 2, 1, 5])
    weight = torch.rand(9)
    given = dict(linear_bias=b, weight=weight, reduction=reduction)
    whole = F.linear_cross_entropy(x, w, target, **given)
    parts = F.linear_cross_entropy(x, w, target, options=nn.LinearCrossEntropyOptions(**settings), **given)
    torch.testing.assert_close(whole, parts)
    for a, c in zip(
        torch.autograd.grad(whole.sum(), (x, w, b)), torch.autograd.grad(parts.sum(), (x, w, b)), strict=True
    ):
        torch.testing.assert_close(a, c)


def test_linear_cross_entropy_refuses():
    with pytest.raises(ValueError, match="^invalid acc_policy: 'x'$"):
        nn.LinearCrossEntropyOptions(acc_policy="x")
    with pytest.raises(RuntimeError, match="^expected input with dimensionality 1 or 2, got 3$"):
        F.linear_cross_entropy(torch.ones(1, 2, 3), torch.ones(4, 3), torch.zeros(1, dtype=torch.int64))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.tied_bias = self.a.bias
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count = self.count + 1
        return self.a(x) + self.tied_bias + getattr(self, "extra", 0)


def test_functional_call_with_new_names_and_ties():
    net = Tied()
    given = {
        "a.weight": torch.ones(1, 1),
        "tied_bias": torch.tensor([2.0]),
        "extra": torch.tensor([0.5]),
        "count": torch.zeros(1),
    }
    out = functional_call(net, given, torch.ones(1, 1))
    assert out.item() == 5.5 and not hasattr(net, "extra")
    assert given["count"].item() == 1.0 and net.count.item() == 0.0  # what the module assigned is the caller's
    with pytest.raises(ValueError, match="got multiple values for keys \\['a.bias', 'tied_bias'\\]"):
        functional_call(net, {"a.bias": torch.ones(1), "tied_bias": torch.zeros(1)}, torch.ones(1, 1))
    with pytest.raises(
        RuntimeError,
        match="Error\\(s\\) in reparametrizing for Tied:\n\tUnexpected key\\(s\\): 'b'.\n\tMissing key\\(s\\): ",
    ):
        functional_call(net, {"b": torch.ones(1)}, torch.ones(1, 1), strict=True)


def test_conversion_may_make_new_parameters():
    net = nn.Linear(1, 1)
    old = net.weight
    try:
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        net.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert net.weight is not old and old.dtype == torch.float32


Pair = namedtuple("Pair", "a b")


def test_hooks_keep_named_tuples_and_run_always():
    class Two(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x * 3)

    net, seen = Two(), []
    net.register_full_backward_hook(lambda m, i, o: seen.append("backward"))
    out = net(torch.ones(1, requires_grad=True))
    assert type(out) is Pair
    out.a.sum().backward()

    def fail(*_):
        raise RuntimeError("in hook")

    net.register_forward_pre_hook(fail)
    net.register_forward_hook(lambda m, i, o: seen.append("always"), always_call=True)
    net.register_forward_hook(fail, always_call=True)
    with pytest.raises(RuntimeError, match="in hook"), pytest.warns(UserWarning, match="silenced as another error"):
        net(torch.ones(1))
    assert seen == ["backward", "always"]


def test_hooks_that_return_what_they_may_not():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="^state_dict post-hook must return None$"):
        net.state_dict()

    def short(grad_input, grad_output):
        return grad_input[:-1]

    y = torch.ones(1, requires_grad=True).sigmoid()
    y.grad_fn.register_hook(short)
    with pytest.raises(
        RuntimeError, match="hook 'short' has returned an incorrect number of values \\(got 0, but expected 1\\)"
    ):
        y.backward()


def test_layers_have_the_bases_that_libraries_ask_for():
    modules = nn.modules
    assert issubclass(nn.MaxPool2d, modules.pooling._MaxPoolNd)
    assert issubclass(nn.AdaptiveAvgPool1d, modules.pooling._AdaptiveAvgPoolNd)
    assert issubclass(nn.ZeroPad2d, nn.ConstantPad2d) and issubclass(
        nn.ReflectionPad1d, modules.padding._ReflectionPadNd
    )
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"
    assert nn.MaxUnpool2d.__module__ == "torch.nn.modules.pooling"
    assert modules.activation.MultiheadAttention is nn.MultiheadAttention

    class Focal(modules.loss._WeightedLoss):
        def __init__(self, weight=None, gamma=2):
            super().__init__(weight, reduction="sum")
            self.gamma = gamma

    loss = Focal(torch.ones(3))
    assert loss.reduction == "sum" and loss.state_dict()["weight"].tolist() == [1.0] * 3


def test_pairwise_distance_keeps_its_norm_by_pytorchs_name():
    distance = torch.nn.PairwiseDistance(p=1.0, keepdim=True)
    assert (distance.norm, distance.eps, distance.keepdim) == (1.0, 1e-6, True)
    assert repr(distance) == "PairwiseDistance()" and distance.__class__.__module__.endswith("nn.modules.distance")
    torch.testing.assert_close(distance(torch.ones(1, 2), torch.zeros(1, 2)), torch.tensor([[2.0]]))
