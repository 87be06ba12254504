"""What a file read with ``weights_only=True`` can reach: the names it may use, and what each may be used for.

A name gives one of three things. A *value* (a dtype, a layout, a memory format) and a *class* (of storages, of tensors) are only
handed on to functions. A *function* may be called; it is not the one that trusted files call but its counterpart in
``checked``, which verifies every argument. docs/security.md lists the names; a test compares the two.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from shim_torch._impl.native import _core

Call = Callable[..., Any]


class Reachable(NamedTuple):
    """The names that files may always use, and by object id: which may be called, which make tensors."""

    names: dict[str, Any]
    calls: dict[int, Call]
    copying: frozenset[Call]  # those that copy an argument: a file could call them repeatedly
    makers: dict[int, Call]  # of those that make tensors: those whose result may be an argument of another call


def layouts() -> dict[str, Any]:
    """The layouts by their names in files, ``"torch.strided"`` ..."""
    return {str(v): v for v in vars(_core).values() if isinstance(v, _core.layout)}


def _values() -> dict[str, Any]:
    kinds = (_core.dtype, _core.layout, _core.memory_format)
    return {f"torch.{name}": value for name, value in vars(_core).items() if isinstance(value, kinds)}


def _classes() -> dict[str, Any]:
    from shim_torch._impl.tensor.legacy_storages import DTYPES
    from shim_torch._impl.tensor.typed_storage import TypedStorage, legacy_storage
    from shim_torch.nn.parameter import Parameter

    return {
        "torch.Tensor": _core.Tensor,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.storage.UntypedStorage": _core.UntypedStorage,
        "torch.storage.TypedStorage": TypedStorage,
        **{f"torch.{name}": legacy_storage(name) for name in DTYPES},
    }


def _makers() -> dict[str, tuple[Any, Call]]:
    """The functions that make tensors: name -> (function, checked counterpart)."""
    from shim_torch import _utils
    from shim_torch._impl.nested import base as nested
    from shim_torch._impl.serialization import checked, checked_composed

    twins: dict[str, Call] = {
        "_rebuild_tensor": checked.tensor,
        "_rebuild_tensor_v2": checked.tensor_v2,
        "_rebuild_tensor_v3": checked.tensor_v3,
        "_rebuild_parameter": checked.parameter,
        "_rebuild_parameter_with_state": checked.parameter_with_state,
        "_rebuild_sparse_tensor": checked_composed.sparse_tensor,
        "_rebuild_meta_tensor_no_storage": checked.meta_tensor,
        "_rebuild_wrapper_subclass": checked.wrapper_subclass,
        "_rebuild_qtensor": _utils._rebuild_qtensor,  # these two only say that they are not supported
        "_rebuild_nested_tensor": _utils._rebuild_nested_tensor,
    }
    found = {f"torch._utils.{name}": (getattr(_utils, name), twin) for name, twin in twins.items()}
    for root in ("torch", "shim_torch"):
        found[f"{root}.nested._internal.nested_tensor._rebuild"] = (nested._rebuild, checked_composed.nested_tensor)
    return found


def _functions() -> dict[str, tuple[Any, Call]]:
    """The other functions and the classes that may be called."""
    from shim_torch import _tensor, serialization
    from shim_torch._impl.serialization import checked

    found: dict[str, tuple[Any, Call]] = {
        "collections.OrderedDict": (OrderedDict, checked.ordered_dict),
        "collections.Counter": (Counter, checked.counter),
        "_codecs.encode": (checked.encode, checked.encode),
        "torch.Size": (_core.Size, checked.size),
        "torch.device": (_core.device, checked.device),
        "torch.serialization._get_layout": (serialization._get_layout, checked.layout),
        "torch._tensor._rebuild_from_type_v2": (_tensor._rebuild_from_type_v2, checked.from_type),
    }
    for builtins in ("builtins", "__builtin__"):
        found[f"{builtins}.set"] = (set, checked.set_of)
        found[f"{builtins}.bytearray"] = (bytearray, checked.byte_array)
        found[f"{builtins}.complex"] = (complex, checked.complex_number)
    return found


@lru_cache(maxsize=1)
def table() -> Reachable:
    """The table of all allowed names, built when a file is first read."""
    from shim_torch._impl.serialization import checked, checked_composed

    makers, functions = _makers(), _functions()
    called = {**functions, **makers}
    return Reachable(
        names={**_values(), **_classes(), **{name: found for name, (found, _) in called.items()}},
        calls={id(found): twin for found, twin in called.values()},
        copying=checked.COPYING | checked_composed.COPYING,
        makers={id(found): twin for found, twin in makers.values()},
    )
