"""How many operations the matrix products among the operators take; a multiplication and an addition are two."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

from native import _core
from shim_torch import _torch_names
from shim_torch._ops import OpOverloadPacket, ops
from shim_torch.utils._pytree import tree_map

aten: Any = ops.aten
flop_registry: dict[Any, Any] = {}


def get_shape(i: Any) -> Any:
    """A tensor's shape; anything else as it is."""
    return i.shape if isinstance(i, _core.TensorBase) else i


def shape_wrapper(f: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of shapes as one of tensors."""

    @wraps(f)
    def formula(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return formula


def _is_other_operator(target: Any) -> bool:
    """Whether it is a Triton kernel or an operator that takes functions."""
    return type(target).__name__ in ("JITFunction", "Autotuner", "_Launcher") or hasattr(target, "py_kernels")


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """A decorator: the formula of operators (``torch.ops.aten.mm``) or Triton kernels.

    It gets the arguments, tensors as shapes, and ``out_shape``; with ``get_raw`` the tensors, and ``out_val``.
    """

    def decorate(formula: Any) -> Any:
        counted = formula if get_raw else shape_wrapper(formula)

        def note(target: Any) -> None:
            if not (isinstance(target, OpOverloadPacket) or _is_other_operator(target)):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                    f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counted

        tree_map(note, targets)
        return counted

    return decorate


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(m, k) times (k, n)."""
    m, k = a_shape
    k2, n = b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return int(m * n * 2 * k)


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As mm; the sum is not counted."""
    return mm_flop.__wrapped__(a_shape, b_shape)  # type: ignore[no-any-return]


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(b, m, k) times (b, k, n)."""
    b, m, k = a_shape
    b2, k2, n = b_shape
    if b != b2:
        raise AssertionError(f"bmm: batch dimensions must match (b == b2), got {b} and {b2}")
    if k != k2:
        raise AssertionError(f"bmm: inner dimensions must match (k == k2), got {k} and {k2}")
    return int(b * m * n * 2 * k)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As bmm; the sum is not counted."""
    return bmm_flop.__wrapped__(a_shape, b_shape)  # type: ignore[no-any-return]


@register_flop_formula(aten._scaled_mm)
def _scaled_mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return mm_flop.__wrapped__(a_shape, b_shape)  # type: ignore[no-any-return]


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A window's products for each place of the output (of the input, when transposed)."""
    places = (x_shape if transposed else out_shape)[2:]
    out_channels, in_channels, *kernel = w_shape
    return int(prod(places) * prod(kernel) * out_channels * in_channels * x_shape[0] * 2)


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: Any, *args: Any,
    out_shape: Any = None, **kwargs: Any
) -> int:  # fmt: skip
    """A convolution's."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any, x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, _output_padding: Any, _groups: Any, output_mask: Any, out_shape: Any
) -> int:  # fmt: skip
    """Two convolutions: one for the input's gradient, one for the weight's, of those that are wanted."""
    one = conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)
    return one * (bool(output_mask[0]) + bool(output_mask[1]))


@register_flop_formula(aten._convolution_weight)
def _conv_weight_flop(x_shape: Any, grad_shape: Any, kernel: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return conv_flop_count(x_shape, out_shape, grad_shape)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention's two batched products; heads of keys and values may be shared by several of the queries."""
    b, h, s_q, d_q = query_shape
    _b2, h_kv, s_k, _d2 = key_shape
    _b3, _h3, _s3, d_v = value_shape
    if not (b == _b2 == _b3 and h_kv == _h3 and h % h_kv == 0 and d_q == _d2 and s_k == _s3):
        raise AssertionError(
            f"sdpa_flop_count: query/key/value shapes are incompatible: {query_shape}, {key_shape}, {value_shape}"
        )
    return int(b * h * (s_q * d_q * s_k + s_q * s_k * d_v) * 2)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Five products: the scores once more, and the gradients of the values, the scores, the queries and the keys."""
    b, h, s_q, d_q = query_shape
    _b2, h_kv, s_k, _d2 = key_shape
    _b3, _h3, _s3, d_v = value_shape
    if not (b == _b2 == _b3 and h_kv == _h3 and h % h_kv == 0 and d_q == _d2 and s_k == _s3):
        raise AssertionError(
            f"sdpa_backward_flop_count: shapes are incompatible: {query_shape}, {key_shape}, {value_shape}"
        )
    return int(b * h * 2 * s_q * s_k * (3 * d_q + 2 * d_v))


def _named(names: str) -> list[Any]:
    return [getattr(aten, n) for n in names.split() if hasattr(aten, n)]


@register_flop_formula(
    _named(
        "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention _scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_flash_attention_for_cpu"
    )
)
def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Attention's."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(
    _named(
        "_scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_cudnn_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward"
    )
)
def sdpa_backward_flop(
    grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """The gradients of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)

_torch_names.present(globals(), "torch.utils.flop_counter")
