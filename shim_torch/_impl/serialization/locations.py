"""Which device the storages of a file are loaded to: their own, or by ``map_location``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

Restore = Callable[[Any, str], Any]
_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = []


def register_package(priority: int, tagger: Callable[[Any], Any], deserializer: Callable[[Any, str], Any]) -> None:
    """Adds a pair of functions: storage -> location or None, and (storage, location) -> storage or None."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The location tag that a file has for a storage: ``"cpu"``, ``"cuda:0"`` ..."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return str(tag)
    device = storage.device
    return device.type if device.type in ("cpu", "meta") else f"{device.type}:{device.index or 0}"


def _cuda_index(location: str) -> int:
    device = _core.device(location)
    index = 0 if device.index is None else int(device.index)
    count = _core.cuda_device_count()
    if count == 0:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
            "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count}. Please use "
            "torch.load with map_location to map your storages to an existing device."
        )
    return index


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, moved to ``location``; RuntimeError if that device does not exist here."""
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    if location == "cpu":
        return storage
    if location == "meta":
        return _core.UntypedStorage(storage.nbytes(), device="meta")
    if location.startswith("cuda"):
        from shim_torch._impl.tensor.untyped_storage import untyped_tensor

        device = _core.device("cuda", _cuda_index(location))
        return untyped_tensor(storage).to(device).untyped_storage()
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__module__}.{type(storage).__qualname__} (tagged with {location})"
    )


def restorer(map_location: Any) -> Restore:
    """The function (storage on the CPU, location in the file) -> storage, for a ``map_location`` argument."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        text = map_location.decode() if isinstance(map_location, bytes) else map_location
        return lambda storage, location: default_restore_location(storage, text)
    if isinstance(map_location, _core.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


naming.present(globals(), "torch.serialization")
