"""``torch._dynamo.testing``: what tests of compiled functions use. Nothing is compiled, so recorders of graphs stay empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._dynamo.utils import clone_input as clone_input


def clone_me(x: Any) -> Any:
    """A leaf of the same values and ``requires_grad``; None for None."""
    return None if x is None else x.detach().clone().requires_grad_(x.requires_grad)


def requires_bwd_pass(out: Any) -> bool:
    """Whether any tensor in a result (a tensor, or lists and tuples of them) has a gradient."""
    import shim_torch

    if isinstance(out, shim_torch.Tensor):
        return bool(out.requires_grad)
    if isinstance(out, (list, tuple)):
        return any(requires_bwd_pass(x) for x in out)
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError("Don't know how to reduce", type(out))


def reduce_to_scalar_loss(out: Any) -> Any:
    """The mean of a tensor; of lists, tuples and dicts the mean of their parts'."""
    import shim_torch

    if isinstance(out, shim_torch.Tensor):
        return out.sum() / out.numel()  # integers have no mean
    if isinstance(out, (list, tuple)):
        return sum(reduce_to_scalar_loss(x) for x in out) / len(out)
    if hasattr(out, "logits"):
        return reduce_to_scalar_loss(out.logits)
    if isinstance(out, dict):
        return sum(reduce_to_scalar_loss(value) for value in out.values()) / len(out)
    raise NotImplementedError("Don't know how to reduce", type(out))


def remove_optimized_module_prefix(name: str) -> str:
    return name.removeprefix("_orig_mod.")


class CompileCounter:
    """A backend that counts graphs and their calls."""

    def __init__(self) -> None:
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward  # type: ignore[no-any-return]

    def clear(self) -> None:
        self.frame_count = self.op_count = 0


class EagerAndRecordGraphs:
    """A backend that keeps graphs and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return gm.forward  # type: ignore[no-any-return]


class CompileCounterWithBackend(CompileCounter):
    """A counter that keeps the graphs, too, and runs them by a backend; "eager" is the only one."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        if self.backend != "eager":
            raise NotImplementedError(
                f"torch._dynamo.testing.CompileCounterWithBackend({self.backend!r}) is not supported by shim-torch"
            )
        self.graphs.append(gm)
        return super().__call__(gm, example_inputs)

    def clear(self) -> None:
        super().clear()
        self.graphs = []


class AotEagerAndRecordGraphs:
    """A backend that keeps the graphs of forward and backward: none are made."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        raise NotImplementedError(
            "torch._dynamo.testing.AotEagerAndRecordGraphs is not supported by shim-torch: there is no AOTAutograd"
        )


def strip_comment(code: str) -> str:
    """Code without the lines that are comments."""
    return re.sub(r"(?m)^ *#.*\n?", "", code)


def remove_trailing_space(code: str) -> str:
    return "\n".join(line.rstrip() for line in code.split("\n"))


def normalize_gm(gm_str: str) -> str:
    """Printed code without comments, spaces at line ends and repeated blank lines."""
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", remove_trailing_space(strip_comment(gm_str)))


def empty_line_normalizer(code: str) -> str:
    """Code without empty lines."""
    return re.sub(r"[\r\n]+", "\n", code)


def rand_strided(
    size: Sequence[int], stride: Sequence[int], dtype: Any = None, device: Any = "cpu", extra_size: int = 0
) -> Any:
    """Normal numbers (zeros for other than floating dtypes) in a tensor of these sizes and strides."""
    import shim_torch

    dtype = shim_torch.float32 if dtype is None else dtype
    n = extra_size
    if all(s > 0 for s in size):
        n += sum((s - 1) * t for s, t in zip(size, stride, strict=True)) + 1
    if not dtype.is_floating_point:
        buffer = shim_torch.zeros(n, dtype=dtype, device=device)
    elif dtype == shim_torch.float4_e2m1fn_x2:
        buffer = shim_torch.randint(0, 256, (n,), dtype=shim_torch.uint8, device=device).view(dtype)
    elif dtype.itemsize == 1:  # no draws in 8 bits
        buffer = shim_torch.randn(n, dtype=shim_torch.float16, device=device).to(dtype)
    else:
        buffer = shim_torch.randn(n, dtype=dtype, device=device)
    return shim_torch.as_strided(buffer, size, stride)


def reset_rng_state() -> None:
    """Seeds this package's, NumPy's and Python's random numbers with 1337."""
    import random

    import numpy as np

    import shim_torch

    shim_torch.manual_seed(1337)
    random.seed(1337)
    np.random.seed(1337)


def _make_fn_with_patches(fn: Callable[..., Any], *patches: Any) -> Callable[..., Any]:
    """``fn`` under ``patch(module, attribute, value)`` for each of ``patches``."""
    import contextlib
    import functools

    @functools.wraps(fn)
    def patched(*args: Any, **kwargs: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for module, attribute, value in patches:
                stack.enter_context(module.patch(attribute, value))
            return fn(*args, **kwargs)

    return patched


def make_test_cls_with_patches(
    cls: type,
    cls_prefix: str,
    fn_suffix: str,
    *patches: Any,
    xfail_prop: str | None = None,
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda x: x,
) -> type:
    """A class of the tests of ``cls`` under settings ``(module, attribute, value)``, prefix and suffix added to the names.

    Tests with the attribute ``xfail_prop`` are expected to fail; ``decorator`` is put around each.
    """
    import unittest

    name = f"{cls_prefix}{cls.__name__}"
    made = type(name, cls.__bases__, {})
    made.__qualname__ = name
    for key in dir(cls):
        value = getattr(cls, key)
        if not key.startswith("test_"):
            if not hasattr(made, key):
                setattr(made, key, value)
        elif not callable(value):
            setattr(made, key, value)
        else:
            test = _make_fn_with_patches(value, *patches)
            test.__name__ = key + fn_suffix
            if xfail_prop is not None and hasattr(value, xfail_prop):
                test = unittest.expectedFailure(test)
            setattr(made, key + fn_suffix, decorator(test))
    return made


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._dynamo.testing", name)
