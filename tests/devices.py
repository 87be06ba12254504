"""The devices that the mirrored tests run on, and what can be compared of tensors that have no data.

A test that takes the fixture ``device`` (tests/conftest.py) runs once for each of ``devices()``, with that device as the
default one: what its factories make is there. On ``meta`` shapes, dtypes and strides are compared, by ``check_forms``.
With ``SHIM_TEST_CUDA=cuda:1`` in the environment that GPU takes the place of ``cuda``, while device 0 stays current.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import shim_torch


def devices() -> list[str]:
    """cpu and meta, and cuda where there is a GPU."""
    return ["cpu", "meta", *(["cuda"] if shim_torch.cuda.is_available() else [])]


class Indexed(str):
    """A name with an index (``cuda:1``) which tests compare, and look up, as they do its type (``cuda``)."""

    def __eq__(self, other: object) -> bool:
        return str(self) == other or self.partition(":")[0] == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.partition(":")[0])


def tested(name: str) -> str:
    """The device that tests for ``name`` run on."""
    return Indexed(os.environ["SHIM_TEST_CUDA"]) if name == "cuda" and "SHIM_TEST_CUDA" in os.environ else name


def forms(value: Any) -> Any:
    """Dtype, shape and strides of every tensor of a result; of other values their type alone."""
    if isinstance(value, shim_torch.Tensor):
        strides = [s for s, n in zip(value.stride(), value.shape, strict=True) if n != 1]
        return [str(value.dtype), list(value.shape), strides if value.numel() else None]
    if isinstance(value, (list, tuple)):
        return [forms(v) for v in value]
    if isinstance(value, dict):
        return {k: forms(v) for k, v in value.items()}
    return type(value).__name__


def needs_data(error: Exception) -> bool:
    """Whether an error on meta tensors says that the answer depends on values."""
    return isinstance(error, (NotImplementedError, RuntimeError)) and "meta" in str(error).lower()


def check_forms(run: Callable[[], Any]) -> None:
    """``run()`` on meta tensors gives what it gives on the CPU, as far as dtypes, shapes and strides go.

    What needs values (``nonzero``, ``item``, errors about values) may refuse, or go through, on meta tensors.
    """
    try:
        with shim_torch.device("cpu"):
            wanted = forms(run())
    except Exception as error:
        wanted = error
    try:
        with shim_torch.device("meta"):
            got = forms(run())
    except Exception as error:
        if isinstance(wanted, Exception):
            other_kernels = "not implemented for" in str(wanted)  # a dtype that the CPU has no kernel for
            # PyTorch's functions of meta tensors refuse out= in words, and of a type, of their own.
            other_words = "can't be cast" in str(wanted) and "it is not safe!" in str(error)
            fine = type(error) is type(wanted) or needs_data(error) or other_kernels or other_words
            assert fine, f"{error!r} instead of {wanted!r}"
            return
        assert needs_data(error), f"{error!r} instead of {wanted}"
        return
    assert isinstance(wanted, Exception) or got == wanted, f"{got} instead of {wanted}"
