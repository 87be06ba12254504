"""Device types without devices here (xpu, mps, mtia): queries answer that there is none, use raises."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.missing import has


class AbsentDevice:
    """The functions of ``torch.xpu`` and its like: no devices; what needs one raises."""

    def __init__(self, module: str, label: str) -> None:
        self.module, self.label = module, label

    def is_available(self) -> bool:
        """Whether there is such a device: never."""
        return False

    def device_count(self) -> int:
        """How many such devices there are: none."""
        return 0

    def is_initialized(self) -> bool:
        """Never."""
        return False

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Never: there is no device."""
        return False

    def empty_cache(self) -> None:
        """Nothing is cached."""

    def manual_seed(self, seed: int) -> None:
        """No device to seed; PyTorch ignores it too."""

    def manual_seed_all(self, seed: int) -> None:
        """No device to seed; PyTorch ignores it too."""

    def _is_in_bad_fork(self) -> bool:
        return False

    def needs_device(self, name: str) -> Any:
        """A function that says there is no such device."""

        def use(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(
                f"{self.module}.{name}: there is no {self.label} device; shim-torch runs on the CPU and on NVIDIA GPUs (CUDA)"
            )

        use.__name__ = use.__qualname__ = name
        use.__module__ = self.module
        return use

    def class_needing_device(self, name: str) -> type:
        """A class of the family for isinstance checks; making one says there is no such device."""

        def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
            return self.needs_device(name)()

        return type(name, (), {"__new__": refuse, "__module__": self.module})


_ANSWERED = (
    "is_available device_count is_initialized is_bf16_supported empty_cache manual_seed manual_seed_all _is_in_bad_fork"
).split()
_NEEDING = (
    "current_device set_device current_stream default_stream set_stream synchronize get_device_properties get_device_name "
    "get_device_capability init mem_get_info memory_allocated max_memory_allocated memory_reserved memory_stats "
    "reset_peak_memory_stats get_rng_state set_rng_state get_rng_state_all set_rng_state_all initial_seed seed seed_all "
    "max_memory_reserved memory_snapshot memory_stats_as_nested_dict reset_accumulated_memory_stats utilization temperature"
).split()
# By family: further functions, and classes that code tests tensors and streams against.
_FURTHER = {
    "torch.xpu": (
        "stream can_device_access_peer get_stream_from_external",
        "Event Stream StreamContext device device_of",
    ),
    "torch.mps": (
        "compile_shader current_allocated_memory driver_allocated_memory recommended_max_memory load_metallib",
        "Event",
    ),
    "torch.mtia": ("stream", "Event Stream StreamContext device"),
}


def names(module: str, label: str) -> dict[str, Any]:
    """The functions of ``torch.xpu``-like modules, for their globals()."""
    family = AbsentDevice(module, label)
    found = {name: getattr(family, name) for name in _ANSWERED}
    functions, classes = _FURTHER.get(module, ("", ""))
    found.update({name: family.needs_device(name) for name in (*_NEEDING, *functions.split())})
    found.update({name: family.class_needing_device(name) for name in classes.split() if name not in found})
    return {name: value for name, value in found.items() if has(f"{module}.{name}")}
