"""Linear maps, matrix products, embeddings and attention of nested tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nested.base import handles, is_nested
from shim_torch._impl.table.calls import torch
from shim_torch.nested._internal.nested_tensor import NestedTensor


@handles("linear")
def _linear(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("input", "weight", "bias")
    given = dict(zip(names, args, strict=False)) | kwargs
    x, weight, bias = given["input"], given["weight"], given.get("bias")
    if isinstance(x, NestedTensor):
        return x.with_values(func(x._values, weight, bias))
    if x.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {x.dim()}. "
            f"Dense tensor dim: {weight.dim()}"
        )
    if bias is not None and bias.dim() != 1:
        raise RuntimeError(f"Linear requires bias dim == 1 but bias dim is {bias.dim()}")
    if not x.contiguous_parts():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if x.irregular(2):
        last = [p.shape[-1] for p in x.parts()]
        odd = next(n for n in last if n != last[0])
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{odd}"
        )
    if x._parts and x.size(2) != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal 'weight.size(1), "
            f"but got: last_dim = {x.size(2)}, and weight.size(1) = {weight.shape[1]}"
        )
    return x.of_parts([func(p, weight, bias) for p in x.parts()])


@handles("embedding")
def _embedding(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("input", "weight")
    given = dict(zip(names, args, strict=False)) | kwargs
    x, weight = given.pop("input"), given.pop("weight")
    return x.like([func(h, weight, *args[2:], **given) for h in x.held()])


@handles("bmm")
def _bmm(func: Any, args: Any, kwargs: Any) -> Any:
    a, b = args[0], args[1] if len(args) > 1 else kwargs["mat2"]
    for place, x in ((1, a), (2, b)):
        if x.dim() != 3:
            raise RuntimeError(f"batch{place} must be a 3D tensor")
    if is_nested(a) and a.size(0) != b.size(0):
        raise RuntimeError(
            f"Expected size for the 1st dimension of batch2 tensor to be: {a.size(0)} but got: {b.size(0)}."
        )
    return _products(a, b)


def _rows(x: Any) -> list[Any]:
    return x.parts() if is_nested(x) else list(x.unbind(0))


def _products(a: Any, b: Any) -> Any:
    found = []
    for i, (p, q) in enumerate(zip(_rows(a), _rows(b), strict=True)):
        if p.dim() == q.dim() == 2 and p.shape[-1] != q.shape[-2]:
            raise RuntimeError(
                f"{i}-th nested matrices in batch cannot be multiplied ({p.shape[0]}x{p.shape[1]} and {q.shape[0]}x{q.shape[1]})"
            )
        found.append(torch.matmul(p, q))
    lead = a if is_nested(a) else b
    if not isinstance(lead, NestedTensor):
        return lead.of_parts(found)
    shapes = [f.shape for f in found]
    differ = [d for d in range(len(shapes[0])) if len({s[d] for s in shapes}) > 1]
    if isinstance(a, NestedTensor) and a._ragged_idx < a.dim() - 1:
        return a.of_parts(found, a._ragged_idx)
    if isinstance(b, NestedTensor) and b._ragged_idx == b.dim() - 1 and not is_nested(a):
        return b.of_parts(found, b._ragged_idx)
    if isinstance(a, NestedTensor) and a._ragged_idx == a.dim() - 2:
        return a.of_parts(found, a._ragged_idx)
    if isinstance(b, NestedTensor) and b._ragged_idx == b.dim() - 1:
        return b.of_parts(found, b._ragged_idx)
    return torch.stack(found) if not differ else lead.of_parts(found, differ[0] + 1)


@handles("matmul", "__matmul__", "__rmatmul__", "mm")
def _matmul(func: Any, args: Any, kwargs: Any) -> Any:
    a, b = args[0], args[1] if len(args) > 1 else kwargs["other"]
    if func.__name__ == "__rmatmul__":
        a, b = b, a
    if isinstance(a, NestedTensor) or isinstance(b, NestedTensor):
        if isinstance(a, NestedTensor) and not is_nested(b) and b.dim() <= 2 and a._ragged_idx < a.dim() - 1:
            return a.with_values(torch.matmul(a._values, b))
        if is_nested(a) != is_nested(b) and (b if is_nested(a) else a).dim() < 3:
            lead = a if is_nested(a) else b
            other = b if is_nested(a) else a
            rows = [other] * lead.size(0)
            return _products(a, torch.stack(rows)) if is_nested(a) else _products(torch.stack(rows), b)
        return _products(a, b)
    return _matmul_strided(a, b)


def _matmul_strided(a: Any, b: Any) -> Any:
    if is_nested(a) and a.dim() == 4 and not is_nested(b) and b.dim() == 2:
        return a.of_parts([torch.matmul(p, b) for p in a.parts()])
    if not (is_nested(a) and is_nested(b)):
        operands = "a nested self and non-nested other" if is_nested(a) else "a non-nested self and nested other"
        raise RuntimeError(f"Expected both to be nested, but got {operands}")
    for place, x in (("1st", a), ("2nd", b)):
        if x.dim() < 3:
            raise RuntimeError(
                f"matmul: For nested tensors, only inputs with >= 3 dims are currently supported. {place} input has rank: {x.dim()}"
            )
    if a.dim() != b.dim():
        raise RuntimeError(f"matmul: both inputs must have the same rank, got {a.dim()} and {b.dim()}")
    if a.size(0) != b.size(0):
        raise RuntimeError(
            f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {a.size(0)} but got: {b.size(0)}."
        )
    for p, q in zip(_rows(a), _rows(b), strict=True):
        if p.shape[:-2] != q.shape[:-2]:
            raise RuntimeError("matmul(): For nested tensors, batch dimensions must have the same sizes,")  # fmt: skip
    return _products(a, b)


@handles("scaled_dot_product_attention")
def _attention(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = dict(zip(names, args, strict=False)) | kwargs
    q, k, v = given.pop("query"), given.pop("key"), given.pop("value")
    mask = given.pop("attn_mask", None)
    if not all(is_nested(x) for x in (q, k, v)):
        raise ValueError("Expected query, key, and value to all be nested, but got a mix of nested and plain tensors")
    if mask is not None:
        if given.get("is_causal"):
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        raise RuntimeError(
            "scaled_dot_product_attention(): not supported when an explicit attn_mask is set for nested tensors"
        )
    rows = [func(a, b, c, **given) for a, b, c in zip(q.parts(), k.parts(), v.parts(), strict=True)]
    if isinstance(q, NestedTensor):
        return q.of_parts(rows)
    return q.of_parts(rows)


@handles("multi_head_attention_forward")
def _many_heads(func: Any, args: Any, kwargs: Any) -> Any:
    raise NotImplementedError(
        "torch.nn.functional.multi_head_attention_forward of a nested tensor is not supported by shim-torch"
    )
