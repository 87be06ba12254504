"""``torch.sparse._triton_ops_meta``: tuned parameters of Triton kernels for sparse operators. None are shipped."""

from __future__ import annotations

from typing import Any

__all__ = ["get_meta", "minimize", "update"]
_tuned: dict[tuple[Any, ...], dict[Any, Any]] = {}


def get_meta(
    op: str, key: Any, device_name: str | None = None, version: Any = (0, None, 0.5), exact: bool = False
) -> Any:
    """The parameters that ``update`` recorded for these sizes on this kind of device; None without."""
    return _tuned.get((op, device_name, version), {}).get(key)


def update(op: str, device_name: str, version: Any, key: Any, value: Any) -> None:
    """Records the parameters of a tuned kernel."""
    _tuned.setdefault((op, device_name, version), {})[key] = value


def minimize(*args: Any, **kwargs: Any) -> Any:
    """PyTorch's search for parameters."""
    raise NotImplementedError("torch.sparse._triton_ops_meta.minimize is not supported by shim-torch")
