"""How many operations the matrix products among the operators take; a multiplication and an addition are two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from math import prod
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._ops import OpOverloadPacket, ops
from shim_torch.utils._pytree import tree_leaves, tree_map

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


def _register(targets: list[Any], get_raw: bool, formula: Any) -> Any:
    counted = formula if get_raw else shape_wrapper(formula)
    for target in targets:
        if not (isinstance(target, OpOverloadPacket) or _is_other_operator(target)):
            raise ValueError(
                "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}"
            )
        if flop_registry.setdefault(target, counted) is not counted:
            raise RuntimeError(f"duplicate registrations for {target}")
    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """A decorator: the formula of operators (``torch.ops.aten.mm``) or Triton kernels.

    It gets the arguments, tensors as shapes, and ``out_shape``; with ``get_raw`` the tensors, and ``out_val``.
    Errors: ValueError for another target, RuntimeError for one that has a formula.
    """
    return partial(_register, tree_leaves(targets), get_raw)


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
def _conv_weight_flop(
    x_shape: Any, grad_shape: Any, kernel: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    return conv_flop_count(x_shape, out_shape, grad_shape)


def _expect(function: str, *facts: tuple[bool, str]) -> None:
    """AssertionError with the text of the first fact that is not one."""
    for met, text in facts:
        if not met:
            raise AssertionError(f"{function}: {text}")


def _share_heads(query: Any, key: Any) -> tuple[bool, str]:
    """Whether each head of keys serves as many of the queries'."""
    heads = query[1], key[1]
    return heads[0] % heads[1] == 0, "query heads ({}) must be a multiple of key/value heads ({})".format(*heads)


def _attention(query: Any, key: Any, value: Any, with_queries: int, with_values: int) -> int:
    """Attention's batched products: so many along the width of queries and keys, so many along that of values."""
    return int(2 * prod(query[:3]) * key[2] * (with_queries * query[3] + with_values * value[3]))


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention's two products, of shapes (batch, heads, length, width)."""
    q, k, v = map(tuple, (query_shape, key_shape, value_shape))
    text = f"query/key/value shapes are incompatible: q={query_shape}, k={key_shape}, v={value_shape}"
    fits = q[0] == k[0] and q[3] == k[3] and k[:3] == v[:3]
    _expect("sdpa_flop_count", (fits, text), _share_heads(q, k))
    return _attention(q, k, v, 1, 1)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Five products: the scores once more, and the gradients of the values, the scores, the queries and the keys."""
    g, q, k, v = map(tuple, (grad_out_shape, query_shape, key_shape, value_shape))
    _expect(
        "sdpa_backward_flop_count",
        (g[:2] == q[:2] and k[:2] == v[:2] and q[0] == k[0], "batch/heads mismatch among tensors"),
        _share_heads(q, k),
        (g[2:] == (q[2], v[3]) and q[3] == k[3] and k[2] == v[2], "grad_out/value/key/query shapes are incompatible"),
    )
    return _attention(q, k, v, 3, 2)


def _named(names: str) -> list[Any]:
    return [getattr(aten, n) for n in names.split() if hasattr(aten, n)]


@register_flop_formula(
    _named(
        "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention _scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_flash_attention_for_cpu"
    )
)
def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Attention's."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(
    _named(
        "_scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_cudnn_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward"
    )
)
def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """The gradients of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


naming.present(globals(), "torch.utils.flop_counter")
