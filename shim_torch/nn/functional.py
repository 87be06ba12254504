"""``torch.nn.functional``: functions of the operator table, with PyTorch's Python signatures where those differ."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch._impl.nn import attention, losses, margin_losses, random_layers, scaled_mm
from shim_torch._impl.nn import spatial as _spatial
from shim_torch._impl.nn.calls import _overridden, _overridden_one, _override
from shim_torch._impl.nn.calls import operators as _operators
from shim_torch._impl.nn.embedding_bag import embedding_bag as embedding_bag
from shim_torch._impl.nn.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from shim_torch._impl.table.operators import functions as _table

globals().update(_table("nn.functional"))
globals().update(losses.functions())
globals().update(_spatial.functions())
globals().update(scaled_mm.functions())
globals().update(margin_losses.functions())
globals().update(random_layers.functions())
multi_head_attention_forward = attention.multi_head_attention_forward
_torch_functions = _table()
globals().update({
    name: _torch_functions[name]
    for name in (
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc",
        "avg_pool1d", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "pdist", "hardshrink",
    )
})  # fmt: skip
prelu, cosine_similarity, pairwise_distance, adaptive_avg_pool1d = (
    _torch_functions[name] for name in ("prelu", "cosine_similarity", "pairwise_distance", "adaptive_avg_pool1d")
)
logsigmoid = _table("_C")["log_sigmoid"]


def _aten() -> Any:
    return _operators


def relu(input: Any, inplace: bool = False) -> Any:
    """max(0, x)."""
    if _overridden_one(input):
        return _override(relu, 1, input)
    return _aten().relu_(input) if inplace else _aten().relu(input)


def silu(input: Any, inplace: bool = False) -> Any:
    """x times the sigmoid of x."""
    if _overridden_one(input):
        return _override(silu, 1, input)
    return _aten().silu_(input) if inplace else _aten().silu(input)


def mish(input: Any, inplace: bool = False) -> Any:
    """x times the tanh of the softplus of x."""
    if _overridden_one(input):
        return _override(mish, 1, input)
    return _aten().mish_(input) if inplace else _aten().mish(input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """x relu6(x + 3) / 6."""
    if _overridden_one(input):
        return _override(hardswish, 1, input)
    return _aten().hardswish_(input) if inplace else _aten().hardswish(input)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """relu6(x + 3) / 6."""
    if _overridden_one(input):
        return _override(hardsigmoid, 1, input)
    return _aten().hardsigmoid_(input) if inplace else _aten().hardsigmoid(input)


_BELOW = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. This is caused by calling "
    "in-place forward function with a negative slope, please call out-of-place version instead."
)
_LEAKY_BELOW = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with "
    "negative slope"
)


def _no_backward_below(slope: Any, name: str, result: Any) -> Any:
    """``result``, changed in place. With a slope below zero its sign does not tell the input's: backward refuses, as PyTorch's."""
    if slope < 0 and result.requires_grad and not result.is_leaf:

        def refuse(g: Any) -> Any:
            raise RuntimeError(_BELOW.format(name) + (_LEAKY_BELOW if name == "leakyReLu" else ""))

        result.register_hook(refuse)
    return result


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where it is positive, else ``negative_slope`` times x."""
    if _overridden_one(input):
        return _override(leaky_relu, 1, input)
    if inplace:
        return _no_backward_below(negative_slope, "leakyReLu", _aten().leaky_relu_(input, negative_slope))
    return _aten().leaky_relu(input, negative_slope)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x kept within [min_val, max_val]; ValueError where that is no range."""
    if _overridden_one(input):
        return _override(hardtanh, 1, input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_aten().hardtanh_ if inplace else _aten().hardtanh)(input, min_val, max_val)


def _threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it is above ``threshold``, else ``value``."""
    if _overridden_one(input):
        return _override(_threshold, 3, input)
    return (_aten().threshold_ if inplace else _aten().threshold)(input, threshold, value)


threshold = _threshold


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of x times the sigmoid of the second."""
    if _overridden_one(input):
        return _override(glu, 1, input)
    return _aten().glu(input, dim)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where it is positive, else alpha (e^x - 1)."""
    if _overridden_one(input):
        return _override(elu, 1, input)
    return _no_backward_below(alpha, "elu", _aten().elu_(input, alpha)) if inplace else _aten().elu(input, alpha)


def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6)."""
    if _overridden_one(input):
        return _override(relu6, 1, input)
    return hardtanh(input, 0.0, 6.0, inplace)


def selu(input: Any, inplace: bool = False) -> Any:
    """Scaled ELU."""
    if _overridden_one(input):
        return _override(selu, 1, input)
    return (
        _aten().elu_(input, 1.6732632423543772, 1.0507009873554805)
        if inplace
        else _aten().elu(input, 1.6732632423543772, 1.0507009873554805)
    )


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """max(0, x) + min(0, alpha (e^(x/alpha) - 1))."""
    if _overridden_one(input):
        return _override(celu, 1, input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if inplace:
        return _no_backward_below(alpha, "elu", _aten().elu_(input, alpha, 1.0, 1 / alpha))
    return _aten().elu(input, alpha, 1.0, 1 / alpha)


def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    if _overridden_one(input):
        return _override(softsign, 1, input)
    return input / (1 + input.abs())


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    if _overridden_one(input):
        return _override(tanhshrink, 1, input)
    return input - input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + e^-x)."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """Hyperbolic tangent."""
    return input.tanh()


def _softmax_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """e^x / Σ e^x over dim."""
    if _overridden_one(input):
        return _override(softmax, 1, input)
    return input.softmax(_softmax_dim("softmax", input.dim()) if dim is None else dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """log(softmax(x)) over dim."""
    if _overridden_one(input):
        return _override(log_softmax, 1, input)
    return input.log_softmax(_softmax_dim("log_softmax", input.dim()) if dim is None else dim, dtype=dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax(-x) over dim."""
    if _overridden_one(input):
        return _override(softmin, 1, input)
    return softmax(-input, dim, dtype=dtype)


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x - mean) / √(var + eps) · weight + bias over the last dims."""
    if _overridden(input, weight, bias):
        return _override(layer_norm, 2, input, weight, bias)
    return _aten().layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """x / √(mean(x²) + eps) · weight over the last dims."""
    if _overridden(input, weight):
        return _override(rms_norm, 2, input, weight)
    return _aten().rms_norm(input, normalized_shape, weight, eps)


def _need_several(what: str, shape: Any, of: Any) -> None:
    """ValueError where a normalisation would have one number to take the mean ``of``: it would be the result's only zero."""
    if math.prod(of) == 1:
        raise ValueError(f"Expected more than 1 {what} when training, got input size {shape}")


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalisation over groups of channels."""
    if _overridden(input, weight, bias):
        return _override(group_norm, 2, input, weight, bias)
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    batch, channels, *spatial = input.shape
    if num_groups > 0:  # the operator refuses others
        shape = [batch * channels // num_groups, num_groups, *spatial]
        _need_several("value per channel", shape, of=(shape[0], *spatial))
    return _aten().group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalisation over the batch, or by running statistics."""
    if _overridden(input, running_mean, running_var, weight, bias):
        return _override(batch_norm, 3, input, running_mean, running_var, weight, bias)
    if training:
        _need_several("value per channel", input.shape, of=(input.size(0), *input.shape[2:]))
    if eps < 0 or (training and eps == 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    return _aten().batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalisation of each channel of each sample."""
    if _overridden(input, running_mean, running_var, weight, bias):
        return _override(instance_norm, 1, input, running_mean, running_var, weight, bias)
    if use_input_stats:
        _need_several("spatial element", input.shape, of=input.shape[2:])
    statistics = (running_mean, running_var, use_input_stats, momentum, eps)
    return _aten().instance_norm(input, weight, bias, *statistics, True)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros with probability p, the rest divided by 1 - p."""
    if _overridden_one(input):
        return _override(dropout, 1, input)
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _aten().dropout_(input, p, training) if inplace else _aten().dropout(input, p, training)


def _check_dropout(n: int, ndim: int) -> None:
    """What dropout of channels says of a number of dims it is not for: dropout1d refuses, the others warn."""
    if ndim in (n + 1, n + 2):
        if n == 2 and ndim == 3:
            warnings.warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
                "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
                "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To "
                "maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
                stacklevel=4,
            )
        return
    note = (
        f"Note that dropout{n}d exists to provide channel-wise dropout on inputs with {n} spatial "
        f"dimension{'s' if n > 1 else ''}, a channel dimension, and an optional batch dimension (i.e. {n + 1}D or "
        f"{n + 2}D inputs)."
    )
    if n == 1:
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. {note}")
    warnings.warn(
        f"dropout{n}d: Received a {ndim}-D input to dropout{n}d, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. {note}",
        stacklevel=4,
    )


def _channel_dropout(n: int) -> Any:
    def run(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if _overridden_one(input):
            return _override(run, 1, input)
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        _check_dropout(n, input.dim())
        single = input.dim() == n + 1 and n != 2  # without a batch
        x = input.unsqueeze(0) if single else input
        y = (_aten().feature_dropout_ if inplace else _aten().feature_dropout)(x, p, training)
        return input if inplace else y.squeeze(0) if single else y

    run.__name__ = run.__qualname__ = f"dropout{n}d"
    run.__doc__ = "Zeros whole channels with probability p, the rest divided by 1 - p."
    return run


dropout1d, dropout2d, dropout3d = map(_channel_dropout, (1, 2, 3))


def _row_of_padding(padding_idx: int, rows: int) -> int:
    """The number of the row that gets no gradient, counted from the first."""
    if padding_idx not in range(-rows, rows):
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of ``weight`` by index."""
    if _overridden(input, weight):
        return _override(embedding, 2, input, weight)
    row = -1 if padding_idx is None else _row_of_padding(padding_idx, weight.size(0))
    if max_norm is not None:
        _aten().embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _aten().embedding(weight, input, row, scale_grad_by_freq, sparse)


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Pads the last dims: pairs (before, after) from the last dim on; modes constant, reflect, replicate, circular."""
    if _overridden_one(input):
        return _override(globals()["pad"], 2, input)
    return _aten().pad(input, tuple(pad), mode, value)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """x / max(|x|_p, eps) over dim."""
    if _overridden(input, out):
        return _override(normalize, 1, input, out)
    import shim_torch

    return shim_torch.div(input, _aten().linalg_vector_norm(input, p, dim, True).clamp_min(eps), out=out)


def _one_hot(soft: Any, dim: int) -> Any:
    """A one for the largest along ``dim``, zeros for the rest, with the gradient of ``soft`` (straight through)."""
    import shim_torch

    ones = shim_torch.zeros_like(soft).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return ones - soft.detach() + soft


def _noisy(logits: Any) -> Any:
    """Logits with noise of the standard Gumbel distribution: minus the logarithms of exponential samples."""
    import shim_torch

    return logits - shim_torch.empty_like(logits).exponential_().log_()


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """Samples of the Gumbel-softmax distribution."""
    if _overridden_one(logits):
        return _override(gumbel_softmax, 1, logits)
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    soft = (_noisy(logits) / tau).softmax(dim)
    return _one_hot(soft, dim) if hard else soft


# They are functions of this module to whoever asks, wherever they are written.
for _function in list(vars().values()):
    if getattr(_function, "__module__", "").startswith("shim_torch._impl.nn.") and hasattr(_function, "__code__"):
        _function.__module__ = __name__


def __getattr__(name: str) -> Any:
    if name in (
        "handle_torch_function",
        "has_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
    ):
        from shim_torch import overrides

        return getattr(overrides, name)
    if name == "torch":
        import shim_torch

        return shim_torch
    if not name.startswith("__"):
        from shim_torch._impl.nn import functional_helpers

        if name in vars(functional_helpers):
            return getattr(functional_helpers, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.functional", name)
