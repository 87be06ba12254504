"""Exceptions that ``torch`` has under its own name."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """An error that a device reports. Errors of CUDA are plain RuntimeErrors here, with the driver's text."""


AcceleratorError.__module__ = "torch"
