"""``gradcheck`` of functions that take or give sparse tensors: it sees functions of their values."""

from __future__ import annotations

from functools import wraps
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.surface.errors import GradcheckError
from shim_torch._impl.table.calls import torch


def _is_checked(x: Any) -> bool:
    return isinstance(x, _core.TensorBase) and x.requires_grad and x.layout != _core.strided


def any_sparse(inputs: Any) -> bool:
    """Whether a sparse tensor among the inputs wants a gradient."""
    given = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
    return any(_is_checked(x) for x in given)


def _filled(t: Any) -> Any:
    """The tensor with every place an entry."""
    if t.layout == _core.sparse_coo:
        whole = torch.ones(tuple(t.shape[: t.sparse_dim()]), dtype=_core.bool, device=t.device).to_sparse()
        p = coo.parts(whole)
        values = torch.ones((p.values.shape[0], *t.shape[t.sparse_dim() :]), dtype=_core.bool, device=t.device)
        pattern = coo.make(p.indices, values, t.shape, True)
    else:
        from shim_torch._impl.sparse import compressed
        from shim_torch._impl.sparse.compressed_conversions import from_any

        ones = torch.ones(tuple(t.shape), dtype=_core.bool, device=t.device)
        pattern = from_any(ones, t.layout, compressed.blocksize(t), t.dense_dim())
    return t.to_dense().sparse_mask(pattern)


class _Pattern:
    """A sparse tensor without its values."""

    def __init__(self, t: Any, masked: bool) -> None:
        t = t.detach()
        t = t if masked else _filled(t)
        self.parts, self.shape = coo.parts(t), tuple(t.shape)

    def tensor(self, values: Any) -> Any:
        p = self.parts
        if p.layout == _core.sparse_coo:
            return coo.unsafe(p.indices, values, self.shape, coalesced=p.coalesced)
        return torch._sparse_compressed_tensor_unsafe(p.indices, p.plain, values, self.shape, layout=p.layout)

    def watched(self, values: Any) -> Any:
        """The tensor; a gradient for it that is sparse in other dimensions ends the check."""
        made = self.tensor(values)
        if made.requires_grad and made.layout == _core.sparse_coo:
            made.register_hook(lambda g: _check_dims(g, made.sparse_dim(), made.dense_dim()))
        return made


def _check_dims(g: Any, sparse_dim: int, dense_dim: int) -> None:
    if g is None or g.layout != _core.sparse_coo:
        return
    for name, wanted in (("sparse_dim", sparse_dim), ("dense_dim", dense_dim)):
        if getattr(g, name)() != wanted:
            raise GradcheckError(f"grad is sparse tensor, but has incorrect {name}")


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``gradcheck`` with ``masked``: only entries are varied; else every place, as of a dense tensor."""

    @wraps(gradcheck)
    def checked(func: Any, inputs: Any, **options: Any) -> Any:
        masked = bool(options.pop("masked", False))
        given = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        patterns = [_Pattern(x, masked) if _is_checked(x) else None for x in given]
        dense = [
            x if p is None else p.parts.values.clone().requires_grad_() for x, p in zip(given, patterns, strict=True)
        ]

        def of_values(*args: Any) -> Any:
            restored = [a if p is None else p.watched(a) for a, p in zip(args, patterns, strict=True)]
            result = func(*restored)
            if isinstance(result, (list, tuple)):
                return tuple(_as_dense(r, masked) for r in result)
            return _as_dense(result, masked)

        return gradcheck(of_values, tuple(dense), **options)

    return checked


def _as_dense(x: Any, masked: bool) -> Any:
    return x.to_dense(masked_grad=masked) if _is_checked(x) else x
