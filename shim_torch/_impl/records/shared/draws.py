"""Numbers drawn with a parameter each, on the CPU: those that PyTorch draws from the same seed."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def drawn_with(kind: str, generator: Any, *parameters: Any) -> Any:
    """A number for each element of the parameters (see ``_core.cpu_draw_with``), in the order of their dims: PyTorch's."""
    from shim_torch._impl.tensor.generator import chosen

    given = [p.detach().contiguous() for p in parameters]
    out = _core.empty_tensor(given[0].shape, given[0].dtype, given[0].device)
    if not out.is_meta and out.numel():
        _core.cpu_draw_with(out, kind, chosen(generator, out.device)._engine, *given)
    return out
