"""``torch.onnx``: libraries register how their operators are exported; there is no exporter here."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from shim_torch.version import __version__

__all__ = [
    "OnnxExporterError",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]
_symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


class OnnxExporterError(RuntimeError):
    """What an exporter raises."""


class OperatorExportTypes(IntEnum):
    """How an exporter treats operators that ONNX lacks."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(IntEnum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(IntEnum):
    """Element types by ONNX's numbers."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


producer_name = "pytorch"
producer_version = __version__.partition("+")[0]


def is_in_onnx_export() -> bool:
    """Whether a library says that a model is being exported (``GLOBALS.in_onnx_export``)."""
    from shim_torch.onnx._internal.torchscript_exporter._globals import GLOBALS

    return GLOBALS.in_onnx_export


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Keeps the function; an exporter would call it."""
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets it."""
    _symbolics.pop((symbolic_name, opset_version), None)


def export(*args: Any, **kwargs: Any) -> Any:
    """There is no exporter."""
    raise NotImplementedError("torch.onnx.export is not supported by shim-torch: models are not traced")
