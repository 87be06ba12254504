"""Errors of NumPy, CuPy and Python's arithmetic within kernels' bodies, in the types that PyTorch's kernels raise."""

from __future__ import annotations

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.matrices import LinAlgError

AxisError: type[Exception] = getattr(getattr(np, "exceptions", np), "AxisError")  # noqa: B009  NumPy 1.25 moved it

# PyTorch raises these OverflowErrors itself, for numbers that its Scalar does not hold.
_OF_SCALARS = ("int too big to convert", "can't convert negative int to unsigned", "int too large to convert to float")
_TOO_LARGE = ("Maximum allowed dimension exceeded", "array is too big", "maximum supported dimension")


def translated(error: BaseException) -> BaseException:
    """The error to raise where a body raised ``error``: the same, unless its type is not PyTorch's for that."""
    if type(error).__module__.partition(".")[0] in ("cupy", "cupy_backends"):
        try:
            _core.cuda_check_device()
        except RuntimeError as failure:  # an earlier kernel's: CuPy met it first
            failure.__cause__ = error
            return failure
    text = str(error)
    made: BaseException | None = None
    if isinstance(error, ZeroDivisionError):
        made = RuntimeError("ZeroDivisionError")
    elif isinstance(error, AxisError):
        made = IndexError(f"Dimension out of range: {text}")
    elif isinstance(error, (AssertionError, AttributeError)):
        made = RuntimeError(f"the arguments do not fit together: {text}")
    elif type(error) is np.linalg.LinAlgError:
        made = LinAlgError(f"linalg: The algorithm failed to converge: {text}")
    elif isinstance(error, OverflowError) and text not in _OF_SCALARS:
        made = RuntimeError("value cannot be converted to type int64_t without overflow")
    elif isinstance(error, TypeError) and text.endswith("real number, not 'complex'"):
        made = RuntimeError("value cannot be converted to type float without overflow")
    elif isinstance(error, ValueError) and text.startswith(_TOO_LARGE):
        made = RuntimeError(f"Storage size calculation overflowed: {text}")
    if made is None:
        return error
    made.__cause__ = error
    return made
