"""``torch.nn.parallel.comm``: copies and sums over the GPUs of this process."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import shim_torch as torch

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _device(place: Any) -> Any:
    return torch.device("cuda", place) if isinstance(place, int) else torch.device(place)


def _one_of(devices: Any, out: Any) -> None:
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )


def broadcast(tensor: Any, devices: Iterable[Any] | None = None, *, out: Sequence[Any] | None = None) -> Any:
    """A copy of ``tensor`` on each of ``devices`` (the first may be its own and is then itself), or in ``out``."""
    _one_of(devices, out)
    if devices is not None:
        return tuple(tensor.to(_device(d)) for d in devices)
    assert out is not None
    return tuple(o.copy_(tensor) for o in out)


def broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[Any], buffer_size: int = 10485760) -> list[Any]:
    """Copies of several tensors on each of ``devices``: a tuple for every device."""
    return [tuple(t.to(_device(d)) for t in tensors) for d in devices]


def _check_addable(inputs: Sequence[Any]) -> None:
    def words(t: Any) -> str:
        return "x".join(map(str, t.size()))

    for i, one in enumerate(inputs):
        assert one.device.type != "cpu", f"reduce_add expects all inputs to be on GPUs, but input {i} is on CPU"
        if one.size() != inputs[0].size():
            raise ValueError(f"input {i} has invalid size: got {words(one)}, but expected {words(inputs[0])}")


def reduce_add(inputs: Sequence[Any], destination: int | None = None) -> Any:
    """The sum of tensors of one shape from several GPUs, on ``destination`` (default: the current GPU).

    Errors: AssertionError for a tensor on the CPU; ValueError for different shapes.
    """
    _check_addable(inputs)
    place = _device(torch.cuda.current_device() if destination is None else destination)
    if len(inputs) == 1:
        return inputs[0]
    moved = (one.to(place, copy=number == 0) for number, one in enumerate(inputs))
    return functools.reduce(lambda total, one: total.add_(one), moved)


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Any]], destination: int | None = None, buffer_size: int = 10485760
) -> tuple[Any, ...]:
    """``reduce_add`` of the first tensors of every device, of the second, and so on."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs, strict=True))


def scatter(
    tensor: Any,
    devices: Iterable[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Parts of ``tensor`` along ``dim``, one on each of ``devices``, or into ``out``."""
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be specified when 'out' is specified")
        parts = tensor.split([o.size(dim) for o in out], dim)
        return tuple(o.copy_(p) for o, p in zip(out, parts, strict=True))
    places = [_device(d) for d in devices or ()]
    parts = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(p.to(d) for p, d in zip(parts, places, strict=False))


def gather(tensors: Sequence[Any], dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
    """Tensors from several devices as one along ``dim``, on ``destination`` (-1: the CPU), or in ``out``."""
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
            )
        return torch.cat([t.to(out.device) for t in tensors], dim, out=out)
    if destination is None:
        destination = torch.cuda.current_device()
    place = torch.device("cpu") if destination == -1 else _device(destination)
    return torch.cat([t.to(place) for t in tensors], dim)
