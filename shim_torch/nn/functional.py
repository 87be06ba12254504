"""``torch.nn.functional``: functions of the operator table, with PyTorch's Python signatures where those differ."""

from __future__ import annotations

import math
import warnings
from typing import Any

from shim_torch._impl.nn import activations, attention, losses, margin_losses, pooling, random_layers, scaled_mm
from shim_torch._impl.nn import spatial as _spatial
from shim_torch._impl.nn.calls import _overridden, _overridden_one, _override
from shim_torch._impl.nn.calls import operators as _operators
from shim_torch._impl.nn.embedding_bag import embedding_bag as embedding_bag
from shim_torch._impl.nn.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from shim_torch._impl.table import arguments as _arguments
from shim_torch._impl.table.calls import torch as _torch
from shim_torch._impl.table.operators import functions as _table

globals().update(_table("nn.functional"))
globals().update(losses.functions())
globals().update(activations.functions())
globals().update(pooling.functions())
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
    _arguments.need_int(padding_idx, "embedding", "padding_idx", 3)
    if not -rows <= padding_idx < rows:
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
    _arguments.need_tensor(weight, "embedding", "weight", 1)
    row = -1 if padding_idx is None else _row_of_padding(padding_idx, weight.size(0))
    if max_norm is not None:
        _aten().embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _aten().embedding(weight, input, row, scale_grad_by_freq, sparse)


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Pads the last dims: pairs (before, after) from the last dim on; modes constant, reflect, replicate, circular."""
    if _overridden_one(input):
        return _override(globals()["pad"], 2, input)
    if not isinstance(pad, (list, tuple)):
        _arguments.refuse_type(pad, "pad", "pad", 2, "tuple of ints")
    return _aten().pad(input, pad, mode, value)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """x / max(|x|_p, eps) over dim."""
    if _overridden(input, out):
        return _override(normalize, 1, input, out)
    order = 2.0 if p is None else p
    return _torch.div(input, _aten().linalg_vector_norm(input, order, dim, True).clamp_min(eps), out=out)


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
        from shim_torch._impl.tensor import torch_function

        return getattr(torch_function, name)
    if not name.startswith("__"):
        from shim_torch._impl.nn import functional_helpers

        if name in vars(functional_helpers):
            return getattr(functional_helpers, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.functional", name)
