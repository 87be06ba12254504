"""What layers and losses say of inputs they are not for, in PyTorch 2.13's words, and batches of nothing."""

from __future__ import annotations

import warnings

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


def zeros(*size):
    return torch.zeros(size, dtype=torch.int64)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: F.cross_entropy(torch.ones(3, 5), zeros(3, 4)), RuntimeError, "0D or 1D target tensor expected, multi-target not supported"),
        (lambda: F.cross_entropy(torch.ones(3, 5, 2), zeros(3, 3)), RuntimeError, "Expected target size [3, 2], got [3, 3]"),
        (lambda: F.cross_entropy(torch.ones(5), zeros(3)), ValueError, "For 1D input, 1D target must have size 1, but got target size: 3"),
        (lambda: F.cross_entropy(torch.ones(3, 5, 2, 2), zeros(3, 2)), RuntimeError, "only batches of spatial targets supported (3D tensors) but got targets of dimension: 2"),
        (lambda: F.nll_loss(torch.ones(3, 5, 2, 2), zeros(3, 2, 3)), RuntimeError, "size mismatch (got input: [3, 5, 2, 2] , target: [3, 2, 3]"),
        (lambda: F.cross_entropy(torch.ones(3, 5), zeros(3), label_smoothing=1.1), RuntimeError, "label_smoothing must be between 0.0 and 1.0. Got: 1.1"),
        (lambda: F.cross_entropy(torch.ones(3, 5), torch.ones(3, 5), weight=torch.ones(4)), RuntimeError, "cross_entropy: weight tensor should be defined either for all 5 classes or no classes but got weight tensor of shape: [4]"),
        (lambda: F.multi_margin_loss(torch.ones(10, 0), zeros(10)), RuntimeError, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: [10, 0]"),
        (lambda: F.multilabel_margin_loss(torch.ones(3, 4, 5), zeros(5)), RuntimeError, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: [3, 4, 5]"),
        (lambda: F.group_norm(torch.ones(1, 16, 1, 1), 16), ValueError, "Expected more than 1 value per channel when training, got input size [1, 16, 1, 1]"),
        (lambda: F.ctc_loss(torch.zeros(5, 1, 3).log_softmax(2), zeros(2), torch.tensor([5.0]), torch.tensor([2])), RuntimeError, "input_lengths must be integral"),
        (lambda: F.ctc_loss(torch.zeros(5, 1, 3).half(), zeros(2), torch.tensor([5]), torch.tensor([2])), NotImplementedError, "\"ctc_loss_cpu\" not implemented for 'Half'"),
    ],
)  # fmt: skip
def test_refused(run, error, text):
    with pytest.raises(error) as caught:
        run()
    assert str(caught.value) == text


def test_wrong_arguments_are_type_errors_that_name_the_function():
    with pytest.raises(TypeError, match=r"^ctc_loss\(\) received an invalid combination of arguments"):
        F.ctc_loss(torch.zeros(5, 1, 3), zeros(2), [5], torch.tensor([2]))
    with pytest.raises(TypeError, match=r"layer_norm\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        F.layer_norm(3, (2,))


def test_a_batch_of_nothing_leaves_the_running_statistics():
    norm = nn.BatchNorm2d(3)
    norm(torch.randn(0, 3, 2, 2)).sum().backward()
    assert norm.running_mean.tolist() == [0.0] * 3 and norm.running_var.tolist() == [1.0] * 3
    assert norm.weight.grad.tolist() == [0.0] * 3


def test_attention_over_a_batch_of_nothing():
    layer = nn.TransformerDecoderLayer(8, 2, 16)
    assert layer(torch.ones(4, 0, 8), torch.ones(3, 0, 8)).shape == (4, 0, 8)


def test_a_gradient_is_no_view():
    x = torch.ones(2, 3, requires_grad=True)
    x.flatten().sum().backward()
    x.reshape(6).mul(2).backward(torch.ones(6))
    y = torch.ones(2, 3, requires_grad=True)
    y.view(6).backward(torch.ones(6))
    y.grad.detach_()
    assert y.grad.tolist() == [[1.0] * 3] * 2 and x.grad.tolist() == [[3.0] * 3] * 2


def test_the_norms_order_is_a_float_in_the_text():
    p = nn.Parameter(torch.ones(1))
    p.grad = torch.tensor([float("inf")])
    with pytest.raises(RuntimeError, match="^The total norm of order 1.0 for gradients"):
        nn.utils.clip_grad_norm_([p], 1.0, norm_type=1, error_if_nonfinite=True)


def test_weights_of_losses_have_no_gradient():
    x, p, w = torch.randn(3, 5, requires_grad=True), torch.rand(3, 5), torch.rand(5, requires_grad=True)
    for name, loss in {
        "nll_loss_forward": lambda: F.cross_entropy(x, zeros(3), w),
        "nll_loss2d_forward": lambda: F.nll_loss(x[:, :, None], zeros(3, 1), w),
        "multi_margin_loss": lambda: F.multi_margin_loss(x, zeros(3), weight=w),
        "binary_cross_entropy": lambda: F.binary_cross_entropy(p, p, w.expand(3, 5)),
        "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(x, p, w.expand(3, 5)),
    }.items():
        with pytest.raises(
            RuntimeError, match=f"The function '{name}' is not differentiable with respect to argument 'weight'"
        ):
            loss()
        with torch.no_grad():
            loss()
    with pytest.raises(RuntimeError, match="with respect to argument 'pos_weight'"):
        F.binary_cross_entropy_with_logits(x, p, pos_weight=w)
    F.cross_entropy(x, p, w).backward()
    assert w.grad is not None


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


def test_complex_modules_are_warned_of():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        assert nn.Linear(2, 2).to(torch.cfloat).weight.dtype == torch.complex64
