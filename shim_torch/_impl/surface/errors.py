"""Exceptions that ``torch`` has, and ``torch.autograd.gradcheck``."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """An error of a device: what the CUDA driver or a kernel's assert says, with the driver's number in ``error_code``.

    After a device-side assert or a wrong memory access every call on the device raises it, until the process is restarted.
    """

    error_code: int


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left; the text gives sizes."""


class GradcheckError(RuntimeError):
    """Raised by gradcheck: a gradient differs from finite differences."""


AcceleratorError.__module__ = OutOfMemoryError.__module__ = "torch"
GradcheckError.__module__ = "torch.autograd.gradcheck"
