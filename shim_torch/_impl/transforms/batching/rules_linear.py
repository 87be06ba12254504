"""Batching of matrix products (by broadcasting) and of image operators (by a larger batch)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import RULES, Call, rule, spread, wrap


def _product(call: Call, a: Any, b: Any) -> Any:
    """``a @ b`` of items, their values over the batch."""
    rows, columns = a.dim() == 1, b.dim() == 1
    dims = max(a.dim() + rows, b.dim() + columns)

    def matrix(x: Any, vector: bool, at: int) -> Any:
        value = call.value(x)
        value = value.unsqueeze(at) if vector else value
        lead = dims - x.dim() - vector
        return value.reshape(value.shape[:1] + (1,) * lead + value.shape[1:]) if call.mine(x) and lead else value

    found = torch.matmul(matrix(a, rows, -2), matrix(b, columns, -1))
    found = found.squeeze(-2) if rows else found
    return found.squeeze(-1) if columns else found


@rule("mm", "bmm", "mv", "matmul", "dot", "vdot.real", "inner.real")
def _matmul(call: Call, args: Any, kwargs: Any) -> Any:
    a, b = map(call.shared, args)
    if not call.mine(a) and not call.mine(b):
        return spread(call, call.func(a, b))
    wanted = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}
    ranks = wanted.get(call.func._qualified_op_name.removeprefix("aten::"))
    if ranks is not None and (a.dim(), b.dim()) != ranks or not a.dim() or not b.dim():
        return loop(call, args, kwargs)  # which raises the operator's own error
    return wrap(call, _product(call, a, b))


def _added(call: Call, bias: Any, found: Any, rank: int, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * bias + alpha * found`` of items of ``rank`` dims; ``found`` has the batch in front or is the same for all."""
    found = found if alpha == 1 else found * alpha
    if beta == 0:
        return wrap(call, found if found.dim() > rank else found.expand((call.size, *found.shape)))
    bias = call.padded(bias, rank)
    return wrap(call, found + (bias if beta == 1 else bias * beta))


@rule("addmm", "baddbmm", "addmv")
def _plus_product(call: Call, args: Any, kwargs: Any) -> Any:
    bias, a, b = args
    b = call.shared(b) if call.mine(a) else b
    found = _product(call, a, b) if call.mine(a) or call.mine(b) else torch.matmul(a, b)
    rank = {"addmv": 1, "addmm": 2, "baddbmm": 3}[call.func._qualified_op_name.removeprefix("aten::")]
    return _added(call, bias, found, rank, **kwargs)


@rule("linear")
def _linear(call: Call, args: Any, kwargs: Any) -> Any:
    x, weight, bias = (*args, None)[:3]
    weight, bias = call.shared(weight), call.shared(kwargs.get("bias", bias))
    if not call.mine(weight) and not call.mine(bias):
        found = call.func(call.value(x), weight, bias)
        return wrap(call, found) if call.mine(x) else spread(call, found)
    found = _product(call, x, wrap(call, weight.value.mT) if call.mine(weight) else weight.t())
    return wrap(call, found if bias is None else found + call.padded(bias, found.dim() - 1))


@rule("addr", "ger", "outer")
def _outer(call: Call, args: Any, kwargs: Any) -> Any:
    a, b = map(call.value, args[-2:])
    found = a.unsqueeze(-1) * b.unsqueeze(-2)
    return wrap(call, found) if len(args) == 2 else _added(call, args[0], found, 2, **kwargs)


@rule("addbmm")
def _sum_of_products(call: Call, args: Any, kwargs: Any) -> Any:
    bias, a, b = args
    found = _product(call, a, b) if call.mine(a) or call.mine(b) else torch.matmul(a, b)
    return _added(call, bias, found.sum(-3), 2, **kwargs)


def _joined(items: int) -> Any:
    """Operators over images: an item's own batch (or a batch of one) is joined with the others'."""

    def function(call: Call, args: Any, kwargs: Any) -> Any:
        x, *rest = args
        if not call.mine(x) or any(map(call.mine, rest)) or any(map(call.mine, kwargs.values())) or x.dim() < items:
            return loop(call, args, kwargs)
        if x.dim() == items:  # not batched
            return wrap(call, call.func(x.value, *rest, **kwargs))
        if x.dim() != items + 1:
            return loop(call, args, kwargs)
        lead = x.value.shape[:2]
        found = call.func(x.value.flatten(0, 1), *rest, **kwargs)
        if isinstance(found, _core.Tensor):
            return wrap(call, found.unflatten(0, lead))
        return tuple(wrap(call, f.unflatten(0, lead)) for f in found)

    return function


for _names, _items in {
    "conv1d max_pool1d avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d upsample_nearest1d upsample_linear1d": 2,
    "conv2d max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d _adaptive_avg_pool2d max_pool2d_with_indices "
    "upsample_nearest2d upsample_bilinear2d upsample_bicubic2d pixel_shuffle pixel_unshuffle": 3,
    "conv3d max_pool3d avg_pool3d adaptive_avg_pool3d _adaptive_avg_pool3d max_pool3d_with_indices": 4,
}.items():
    for _name in _names.split():
        RULES[_name] = _joined(_items)


def _joined_backward(items: int, tensors: int) -> Any:
    """Gradients of operators over images: the first ``tensors`` arguments have an item's own batch, or none."""

    def function(call: Call, args: Any, kwargs: Any) -> Any:
        dims = args[0].dim()
        if dims not in (items, items + 1) or any(map(call.mine, (*args[tensors:], *kwargs.values()))):
            return loop(call, args, kwargs)
        given = [call.whole(x) for x in args[:tensors]]
        if dims == items:
            return wrap(call, call.func(*given, *args[tensors:], **kwargs))
        found = call.func(*[x.flatten(0, 1) for x in given], *args[tensors:], **kwargs)
        return wrap(call, found.unflatten(0, (call.size, -1)))

    return function


for _n in (2, 3):
    for _name, _tensors in {f"avg_pool{_n}d": 2, f"_adaptive_avg_pool{_n}d": 2}.items():
        RULES[f"{_name}_backward"] = _joined_backward(_n + 1, _tensors)


@rule("convolution")
def _convolution(call: Call, args: Any, kwargs: Any) -> Any:
    x, weight, bias, *rest = args
    transposed, groups = rest[3], rest[5]
    if x.dim() == weight.dim() and not call.mine(weight) and not call.mine(bias):
        return _joined(weight.dim() - 1)(call, args, kwargs)
    if transposed or x.dim() != weight.dim():
        return loop(call, args, kwargs)
    # Each item has its own weights: channels of all items side by side, as groups.
    value = call.whole(x)
    value = value.movedim(0, 1).flatten(1, 2)
    weights = call.whole(weight).flatten(0, 1)
    biases = None if bias is None else call.whole(bias).flatten()
    found = call.func(value, weights, biases, *rest[:5], groups * call.size)
    return wrap(call, found.unflatten(1, (call.size, -1)).movedim(1, 0))


@rule("native_layer_norm", "layer_norm", "rms_norm")
def _layer_norm(call: Call, args: Any, kwargs: Any) -> Any:
    """Over the last dims, whatever is before; weights of the batch multiply afterwards."""
    x, *rest = map(call.shared, args)
    if not call.mine(x) or any(map(call.mine, rest)):
        return loop(call, args, kwargs)
    return wrap(call, call.func(x.value, *rest, **kwargs))


@rule("constant_pad_nd", "pad")
def _padded(call: Call, args: Any, kwargs: Any) -> Any:
    mode = args[2] if len(args) > 2 and isinstance(args[2], str) else kwargs.get("mode", "constant")
    if mode != "constant" or not call.mine(args[0]) or len(args[1]) > 2 * args[0].dim():
        return loop(call, args, kwargs)
    return wrap(call, call.func(args[0].value, *args[1:], **kwargs))


@rule("linalg_inv", "linalg_inv_ex", "linalg_det", "linalg_slogdet", "linalg_cholesky", "linalg_cholesky_ex", "cholesky",
      "inverse", "linalg_eigh", "_linalg_eigh", "linalg_svd", "_linalg_svd", "linalg_qr", "linalg_matrix_exp", "det",
      "logdet", "slogdet", "linalg_eigvalsh", "linalg_pinv", "cholesky_inverse", "adjoint", "mT", "mH", "matrix_power",
      "linalg_matrix_power", "linalg_lu_factor", "linalg_lu_factor_ex")  # fmt: skip
def _matrices(call: Call, args: Any, kwargs: Any) -> Any:
    """Operators over the last two dims."""
    if not call.mine(args[0]) or args[0].dim() < 2 or any(map(call.mine, args[1:])):
        return loop(call, args, kwargs)
    found = call.func(args[0].value, *args[1:], **kwargs)
    if isinstance(found, _core.Tensor):
        return wrap(call, found)
    return type(found)([wrap(call, f) for f in found])


@rule("linalg_solve", "linalg_solve_triangular", "_linalg_solve_ex", "cholesky_solve")
def _solved(call: Call, args: Any, kwargs: Any) -> Any:
    a, b, *rest = args
    if a.dim() < 2 or b.dim() < 2:
        return loop(call, args, kwargs)
    dims = max(a.dim(), b.dim())

    def lead(x: Any) -> Any:
        value = call.whole(x)
        return value.reshape(value.shape[:1] + (1,) * (dims - x.dim()) + value.shape[1:])

    found = call.func(lead(a), lead(b), *rest, **kwargs)
    return wrap(call, found) if isinstance(found, _core.Tensor) else type(found)([wrap(call, f) for f in found])
