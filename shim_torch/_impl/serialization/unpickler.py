"""Reading the pickle of a file: any object, or what ``weights_only`` allows."""

from __future__ import annotations

import pickle
from typing import Any

from shim_torch import _weights_only_unpickler as _weights_only
from shim_torch._impl.serialization import class_pickling
from shim_torch._impl.serialization import pickler as _pickler
from shim_torch._impl.serialization.checked import DamagedFile
from shim_torch._impl.serialization.refusals import UNSAFE, advice


class _TorchNames:
    """Of an unpickler: torch's names give ours, all others what the unpickler beside it finds."""

    def find_class(self, module: str, name: str) -> Any:
        """What a file calls ``module.name``."""
        if _pickler.torch_module(module) == module:
            return class_pickling.resolve(module, name)
        return super().find_class(module, name)  # type: ignore[misc]


class Unpickler(_TorchNames, pickle.Unpickler):
    """Any object; torch's names give ours."""

    def __init__(self, file: Any, persistent_load: Any, **arguments: Any) -> None:
        super().__init__(file, **arguments)
        self._persistent_load = persistent_load

    def persistent_load(self, pid: Any) -> Any:
        """What the file's reader has for an id, a storage as a rule."""
        return self._persistent_load(pid)


def unpickler_of(module: Any) -> Any:
    """``Unpickler`` over another pickle module's; None stands for the standard one."""
    if module is None:
        return Unpickler

    class Own(_TorchNames, module.Unpickler):  # type: ignore[misc]
        def __init__(self, file: Any, persistent_load: Any, **arguments: Any) -> None:
            super().__init__(file, **arguments)
            self.persistent_load = persistent_load

    return Own


def unpickle(file: Any, weights_only: bool, arguments: dict[str, Any]) -> Any:
    """A function ``persistent_load -> object`` that reads one pickle."""

    def read(persistent_load: Any) -> Any:
        others = {k: v for k, v in arguments.items() if k != "pickle_module"}
        if not weights_only:
            return unpickler_of(arguments.get("pickle_module"))(file, persistent_load, **others).load()
        reader = _weights_only.Unpickler(file, **others)
        reader.persistent_load = persistent_load  # type: ignore[method-assign]
        try:
            return reader.load()
        except DamagedFile as error:
            raise pickle.UnpicklingError(f"Weights only load failed. {error}") from error.__cause__
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(UNSAFE.format(advice=advice(str(error)))) from None

    return read
