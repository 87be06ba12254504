"""What PyTorch's own test files hold layers and losses to: sizes of nothing, errors, warnings, a second backward."""

from __future__ import annotations

import warnings

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


def test_an_affine_grid_can_be_run_backward_twice():
    theta = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
    grid = F.affine_grid(theta, [2, 3, 2, 3], align_corners=True)
    weights = torch.arange(grid.numel()).reshape(grid.shape).float()
    grid.backward(weights)
    first = theta.grad.clone()
    grid.backward(weights)
    # Row i, column j: the sum over places of weight i times the place's j-th coordinate (x, y, 1).
    assert first[0].tolist() == [[8.0, 18.0, 30.0], [8.0, 18.0, 36.0]] and theta.grad.equal(2 * first)


def test_affine_grids_of_volumes_have_first_and_second_gradients():
    theta = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: F.affine_grid(t, [2, 1, 2, 3, 1], align_corners=False), (theta,))
    assert torch.autograd.gradgradcheck(
        lambda t: F.affine_grid(t, [2, 1, 2, 3, 1], align_corners=False).pow(2), (theta,)
    )


@pytest.mark.parametrize("n, c, places", [(2, 0, 2), (2, 3, 0), (0, 3, 2)])
def test_grids_of_nothing(n, c, places):
    got = F.grid_sample(torch.ones(n, c, 3, 4), torch.ones(n, places, 2, 2), align_corners=False)
    assert got.shape == (n, c, places, 2)


def test_an_utterance_of_no_steps_is_certain_or_impossible():
    lp = torch.randn(2, 2, 5).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(
        lp, torch.ones(2, 2, dtype=torch.int), torch.tensor([0, 0]), torch.tensor([0, 1]), reduction="none"
    )
    assert loss.tolist() == [0.0, float("inf")]
    loss.sum().backward()
    assert lp.grad.abs().sum().item() == 0
    zeroed = F.ctc_loss(
        lp,
        torch.ones(2, 2, dtype=torch.int),
        torch.tensor([0, 0]),
        torch.tensor([0, 1]),
        reduction="none",
        zero_infinity=True,
    )
    assert zeroed.tolist() == [0.0, 0.0]


def test_the_target_gives_a_margin_loss_its_shape():
    x = torch.tensor([0.1, 0.2, 0.7])
    for target, shape in ((torch.tensor(1), ()), (torch.tensor([1]), (1,))):
        got = F.multi_margin_loss(x, target, reduction="none")
        assert got.shape == shape and got.item() == pytest.approx(0.8)


def test_batch_norm_wants_a_positive_eps():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
        nn.BatchNorm1d(3, eps=0)(x)
    with pytest.raises(ValueError, match="eps must be non-negative, but got -1.0"):
        nn.BatchNorm1d(3, eps=-1.0).eval()(x)
    assert nn.BatchNorm1d(3, eps=0).eval()(x).tolist() == [[1.0] * 3] * 2


def test_errors_of_layers():
    with pytest.raises(ValueError, match="expected 4D or 5D input .got 2D input."):
        nn.CircularPad3d(1)(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="expected weight shape to be .2,., got .3,."):
        nn.LinearCrossEntropyLoss(3, 2, weight=torch.ones(3))
    with pytest.raises(RuntimeError, match="label_smoothing to be in range .0, 1., got 2.0"):
        nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0)


def test_an_encoder_says_why_it_keeps_padded_tensors():
    def encoder(**settings):
        layer = nn.TransformerEncoderLayer(4, settings.pop("heads", 2), **settings)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            nn.TransformerEncoder(layer, 1)
        return [str(w.message).partition("because encoder_layer.")[2] for w in seen], layer

    assert encoder(batch_first=True)[0] == []
    assert encoder(batch_first=True, bias=False)[0] == ["self_attn was passed bias=False"]
    assert encoder(batch_first=True, heads=1)[0] == ["self_attn.num_heads is odd"]
    assert encoder()[0][0].startswith("self_attn.batch_first was not True")
    assert encoder(batch_first=True, activation="gelu")[1].activation_relu_or_gelu == 2
    assert encoder(batch_first=True, activation=torch.tanh)[0] == ["activation_relu_or_gelu was not True"]


def test_a_one_cycle_checkpoint_of_before_strategies_had_names():
    def schedule():
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)

    new, old = schedule(), schedule()
    del old._anneal_func_type
    state = old.state_dict()
    state["anneal_func"] = torch.optim.lr_scheduler.OneCycleLR._annealing_cos
    old.load_state_dict(state)
    for _ in range(6):
        for s in (new, old):
            s.optimizer.step()
            s.step()
    assert new.get_last_lr() == old.get_last_lr() and 0 < new.get_last_lr()[0] < 1


def test_log_softmax_does_not_depend_on_a_common_offset():
    x = torch.tensor([[1.0, 5.0, 3.0, 99.0], [7.0, 7.0, 8.0, 9.0]])
    for dim in (0, 1):
        assert torch.equal(F.log_softmax(x, dim), F.log_softmax(x + 1e7, dim))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(0, 0, 0, 0), (0, 0, -1, -1), (-1, 0, 0, 0)])
def test_padding_gives_memory_of_its_own(mode, pad):
    x = torch.zeros(1, 2, 4, 4)
    out = F.pad(x, pad, mode=mode)
    out.fill_(3)
    assert x.abs().sum().item() == 0 and out.is_contiguous()
    assert out.shape == (1, 2, 4 + pad[2] + pad[3], 4 + pad[0] + pad[1])


def test_replication_wants_a_pair_a_dim():
    with pytest.raises(RuntimeError, match="padding size is expected to be 4"):
        torch._C._nn.replication_pad2d(torch.ones(2), padding=[])
    with pytest.raises(RuntimeError, match="padding size is expected to be 2, but got: 0"):
        torch._C._nn.reflection_pad1d(torch.ones(2), padding=[])


def test_instance_norm_checks_the_channels():
    with pytest.raises(ValueError, match=r"size at dim=1 to match num_features \(4\), but got: 2"):
        nn.InstanceNorm1d(4, affine=True)(torch.ones(2, 2, 3))
    with pytest.raises(ValueError, match=r"size at dim=0 to match num_features \(4\), but got: 2"):
        nn.InstanceNorm1d(4, affine=True)(torch.ones(2, 3))
    with pytest.warns(UserWarning, match="which is not used because affine=False"):
        nn.InstanceNorm2d(4)(torch.randn(2, 2, 3, 3))


def test_complex_modules_are_warned_of():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        assert nn.Linear(2, 2).to(torch.cfloat).weight.dtype == torch.complex64


def test_stacked_data_sets_give_batches():
    class Asked(torch.utils.data.Dataset):
        def __init__(self, short=False):
            self.short = short

        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * 10

        def __getitems__(self, items):
            return [i * 10 for i in items][self.short :]

    stack = torch.utils.data.StackDataset
    assert stack(Asked(), [1, 2, 3, 4]).__getitems__([0, 3]) == [(0, 1), (30, 4)]
    assert stack(t=Asked(), n=[1, 2, 3, 4]).__getitems__([1]) == [{"t": 10, "n": 2}]
    with pytest.raises(ValueError, match="output size mismatch. Expected 4, got 3"):
        stack(Asked(short=True), [1, 2, 3, 4]).__getitems__([0, 1, 2, 3])


@pytest.mark.parametrize("loss", [torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss])
@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "Half"), (torch.int32, "Int"), (torch.bool, "Bool")])
def test_classes_are_told_by_longs_or_bytes(loss, dtype, name):
    with pytest.raises(RuntimeError, match=f"^expected target dtype to be Long or Byte, but got {name}$"):
        loss(torch.rand(3, 5), torch.ones(3).to(dtype))
    assert loss(torch.rand(3, 5), torch.ones(3, dtype=torch.uint8)).shape == ()
    with pytest.raises(RuntimeError, match="0D or 1D target tensor expected"):
        loss(torch.rand(3, 5), torch.ones(3, 2, dtype=dtype))


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pools_take_samples_of_more_pictures(n):
    x, samples = torch.rand(2, 4, *[7] * n), torch.rand(3, 4, n)
    pool = getattr(torch.nn.functional, f"fractional_max_pool{n}d")
    found = pool(x, 2, output_size=2, _random_samples=samples)
    torch.testing.assert_close(found, pool(x, 2, output_size=2, _random_samples=samples[:2]))
    torch.testing.assert_close(pool(x[0], 2, output_size=2, _random_samples=samples), found[0])
    assert pool(x[:0], 2, output_size=2, _random_samples=samples).shape == (0, 4, *[2] * n)
