"""What C++ extensions ask of Python: ``torch::autograd::Function``, one Python Function a C++ type; operators by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shim_torch._impl.native import _core


@lru_cache(None)
def _function(name: str) -> Any:
    from shim_torch.autograd import Function

    def forward(ctx: Any, state: Any, *inputs: Any) -> Any:
        ctx._cxx = state
        return _core.cxx_forward(state, ctx)

    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *_core.cxx_backward(ctx._cxx, ctx, grads))

    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def apply(name: str, state: Any, *inputs: Any) -> Any:
    """The results of the C++ function whose calls' state is ``state``, recorded for backward."""
    return _function(name).apply(state, *inputs)


def define(qualified: str, overload: str) -> bool:
    """Whether torch.ops has the operator: it enters the table when it is asked for."""
    import shim_torch

    namespace, _, name = qualified.partition("::")
    packet = getattr(getattr(shim_torch.ops, namespace), name, None)
    return getattr(packet, overload or "default", None) is not None


def stream(handle: int, device: int) -> Any:
    """The torch.cuda.Stream of a cudaStream_t."""
    from shim_torch._impl.cuda.streams import Stream

    return Stream(stream_ptr=handle, device_index=device)


def philox(generator: Any, numbers: int) -> tuple[int, int]:
    """Reserves ``numbers`` of a CUDA generator's stream for each thread: (seed, offset in 32-bit numbers)."""
    _, block = generator._take(numbers)
    return generator.initial_seed(), 4 * block


def generator_device(generator: Any, _: int) -> tuple[int, int]:
    """(type's number, index) of its device; -1 without an index."""
    device = generator.device
    return {"cpu": 0, "cuda": 1}[device.type], -1 if device.index is None else device.index


def generator_seed(generator: Any, _: int) -> tuple[int, int]:
    """(its seed, 0)."""
    return generator.initial_seed(), 0


def default_generator(device: Any) -> Any:
    """The generator that a device's operators draw from."""
    from shim_torch._impl.tensor import generator

    return generator.default_for(device)
