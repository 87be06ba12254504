"""How sparse tensors are printed: their parts, then size, number of entries and layout."""

from __future__ import annotations

from typing import Any

from shim_torch import _tensor_str
from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo


def _part(name: str, value: Any, indent: int, after: bool) -> str:
    prefix = f"{name}=tensor("
    inner = indent + len(prefix)
    options: list[str] = []
    if value.is_meta:
        body = "..."
    elif value.numel() == 0:
        body = "[]"
    else:
        body = _tensor_str._tensor_str(value, inner)
    if value.is_meta or value.numel() == 0:
        options.append(f"size={tuple(value.shape)}")
    text = _tensor_str._add_suffixes(prefix + body, options, inner)
    return text + ("," + "\n" + " " * indent if after else "")


def text_of(t: Any, prefix: str) -> str:
    """What ``repr`` of a sparse tensor is; ``prefix`` is ``tensor(`` or a subclass's."""
    p = coo.parts(t)
    indent, suffixes = len(prefix), []
    if t.device.type != "cpu" and (t.device.type != "cuda" or t.device.index != _core.cuda_current_device()):
        suffixes.append(f"device='{t.device}'")
    suffixes.append(f"size={tuple(t.shape)}")
    if not t.is_meta:
        suffixes.append(f"nnz={coo.nnz(t)}")
    default = (_core.get_default_dtype(), _core.int64, _core.bool, _core.get_default_dtype().to_complex())
    if t.dtype not in default:
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={t.layout}")
    if p.layout == _core.sparse_coo:
        names: list[tuple[str, Any]] = [("indices", p.indices)]
    else:
        from shim_torch._impl.sparse.compressed import NAMES

        names = list(zip(NAMES[p.layout], (p.indices, p.plain), strict=True))
    text = "".join(_part(name, value, indent, True) for name, value in names) + _part("values", p.values, indent, False)
    node = t.grad_fn if t.requires_grad else None
    if node is not None:
        suffixes.append(f"grad_fn=<{node.name() if hasattr(node, 'name') else type(node).__name__}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    return _tensor_str._add_suffixes(prefix + text, suffixes, indent, force_newline=p.layout == _core.sparse_coo)
