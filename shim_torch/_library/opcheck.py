"""The checks of ``torch.library.opcheck``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from native import _core


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, _core.TensorBase):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_each(v, change) for v in value)
    return value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _flat(v)]
    return [value]


def test_schema(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Arguments that the schema does not mark as written must not change."""
    names = [a.name for a in op._schema.arguments]
    written = {a.name for a in op._schema.arguments if a.is_write}
    bound = {**dict(zip(names, args, strict=False)), **kwargs}
    before = {n: _each(v, lambda t: t.detach().clone()) for n, v in bound.items()}
    op(*args, **kwargs)
    for name, value in bound.items():
        if name in written:
            continue
        for old, new in zip(_flat(before[name]), _flat(value), strict=True):
            if isinstance(new, _core.TensorBase) and not bool(((old == new) | (old != old)).all()):
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def test_faketensor(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The fake kernel's shapes and dtypes must be the real ones."""
    meta = _each(args, lambda t: t.detach().to("meta"))
    meta_kwargs = {n: _each(v, lambda t: t.detach().to("meta")) for n, v in kwargs.items()}
    real_args = _each(args, lambda t: t.detach().clone())
    real, fake = _flat(op(*real_args, **kwargs)), _flat(op(*meta, **meta_kwargs))
    for r, f in zip(real, fake, strict=True):
        if isinstance(r, _core.TensorBase) and (tuple(r.shape) != tuple(f.shape) or r.dtype is not f.dtype):
            raise RuntimeError(
                f"fake result {tuple(f.shape)} {f.dtype} differs from the real {tuple(r.shape)} {r.dtype}"
            )


CHECKS: dict[str, Callable[..., None]] = {"test_schema": test_schema, "test_faketensor": test_faketensor}
