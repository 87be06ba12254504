"""Small public names of ``torch`` itself."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.overridable import overridable
from shim_torch._impl.table.tags import Tag as Tag


class qscheme:
    """How a quantized tensor's scales are laid out; quantized tensors are not supported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return _scheme, (self._name,)


qscheme.__module__ = "torch"
_SCHEMES = {
    n: qscheme(n)
    for n in """per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric
    per_channel_affine_float_qparams""".split()
}
globals().update(_SCHEMES)


def _scheme(name: str) -> qscheme:
    return _SCHEMES[name]


@overridable
def sym_int(a: Any) -> int:
    """``int(a)``: sizes are plain numbers here."""
    return int(a)


@overridable
def sym_float(a: Any) -> float:
    """``a`` as a float."""
    return float(a)


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """The larger; a float if either is one."""
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """The smaller; a float if either is one."""
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@overridable
def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


@overridable
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(
            f"sym_ite: expected a bool and two values of one type, got {type(b)}, {type(t)}, {type(f)}"
        )
    return t if b else f


@overridable
def sym_sum(args: Any) -> Any:
    """The sum of a list of numbers."""
    return sum(args)


@overridable
def _sym_sqrt(a: Any) -> float:
    return math.sqrt(a)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for CPU operators."""
    return bool(_core.is_autocast_enabled("cpu"))


def get_autocast_cpu_dtype() -> Any:
    """What autocast casts to on the CPU."""
    return _core.get_autocast_dtype("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switches autocast on the CPU on or off; TypeError unless given a bool."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    _core.set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Sets autocast's dtype on the CPU; TypeError unless given a dtype."""
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
    _core.set_autocast_dtype("cpu", dtype)


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``."""
    from shim_torch import _higher_order_ops

    return _higher_order_ops.cond(pred, true_fn, false_fn, operands)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``."""
    from shim_torch import _higher_order_ops

    return _higher_order_ops.while_loop(cond_fn, body_fn, carried_inputs)


def _running_with_deploy() -> bool:
    """Whether this interpreter is one of several in a process of ``torch::deploy``: no."""
    return False


def is_vulkan_available() -> bool:
    """Whether there is a Vulkan device: no."""
    return False


class TensorType:
    """``torch.TensorType``: TorchScript's type of tensors. Libraries name it in annotations."""

    @classmethod
    def get(cls) -> TensorType:
        """The type of any tensor."""
        return cls()

    def __repr__(self) -> str:
        return "Tensor"


class SymInt:
    """``torch.SymInt``: a size that is no number. Nothing is traced here: only the varying sizes of nested tensors are such."""

    def __new__(cls, node: Any = None, *_: Any) -> Any:
        """The size that a node stands for."""
        return node.size() if cls is SymInt and hasattr(node, "is_nested_int") else super().__new__(cls)


class SymFloat:
    """``torch.SymFloat``, as SymInt."""


class SymBool:
    """``torch.SymBool``, as SymInt."""


def set_vital(name: str, attribute: str, value: str) -> bool:
    """PyTorch notes vital signs of a program where TORCH_VITAL is set; nothing is noted here."""
    return False


naming.present(globals(), "torch", {"torch._higher_order_ops.while_loop": ("while_loop",)})
