"""Exceptions that ``torch`` has, and ``torch.autograd.gradcheck``."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """An error that a device reports. Errors of CUDA are plain RuntimeErrors here, with the driver's text."""


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left; the text gives sizes."""


class GradcheckError(RuntimeError):
    """Raised by gradcheck: a gradient differs from finite differences."""


AcceleratorError.__module__ = OutOfMemoryError.__module__ = "torch"
GradcheckError.__module__ = "torch.autograd.gradcheck"
