"""``torch.nn.parallel.parallel_apply``: modules on inputs of their own."""

from __future__ import annotations

from typing import Any

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Any:
    """The first tensor in an object, its lists, tuples and dicts (keys and values); None without one."""
    from shim_torch import Tensor

    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (list, tuple)):
        return next((found for x in obj if isinstance(found := get_a_var(x), Tensor)), None)
    if isinstance(obj, dict):
        return get_a_var(list(obj.items()))
    return None


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Each module on its input with its device current: work on GPUs is enqueued, so they run at the same time.

    Errors: AssertionError unless there is one input (and device) a module; what a module raises, with the replica's number.
    """
    from shim_torch import cuda
    from shim_torch._utils import ExceptionWrapper

    for name, several in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        assert not several or len(several) == len(modules), (
            f"The number of modules {len(modules)} is not equal to the number of {name} {len(several)}"
        )
    found = []
    for i, module in enumerate(modules):
        args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        first = get_a_var(args) if devices is None else None
        place = devices[i] if devices is not None else first.device if first is not None and first.is_cuda else None
        try:
            with cuda.device(place):
                found.append(module(*args, **(kwargs_tup[i] if kwargs_tup else {})))
        except Exception:
            ExceptionWrapper(where=f"in replica {i} on device {place}").reraise()
    return found
