"""Pooling functions of ``torch.nn.functional``."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.nn.calls import _aten, _overridden_one, _override, _tuple


def _named(made: dict[str, tuple[Any, str]]) -> dict[str, Any]:
    """Functions by their names, which they get with their docstrings."""
    for name, (function, doc) in made.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
    return {name: function for name, (function, _) in made.items()}


def _max_pools(n: int) -> dict[str, Any]:
    def with_indices(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        if _overridden_one(input):
            return _override(with_indices, 2, input)
        stride = () if stride is None else stride
        return _aten(f"max_pool{n}d_with_indices")(input, kernel_size, stride, padding, dilation, ceil_mode)

    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        if return_indices:
            return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        if _overridden_one(input):
            return _override(max_pool, 2, input)
        stride = () if stride is None else stride
        return _aten(f"max_pool{n}d")(input, kernel_size, stride, padding, dilation, ceil_mode)

    def unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        if _overridden_one(input):
            return _override(unpool, 3, input)
        kernel, step = _tuple(kernel_size, n), _tuple(kernel_size if stride is None else stride, n)
        pad = _tuple(padding, n)
        size = _unpool_size(input, kernel, step, pad, output_size)
        if n == 1:
            return _aten("max_unpool2d")(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)
        return _aten(f"max_unpool{n}d")(input, indices, size, *((step, pad) if n == 3 else ()))

    return _named(
        {
            f"max_pool{n}d_with_indices": (with_indices, "Maxima over windows and their flat places."),
            f"max_pool{n}d": (max_pool, "Maxima over windows, with their flat places if return_indices."),
            f"max_unpool{n}d": (unpool, "Puts maxima back at the places they came from."),
        }
    )


def _adaptive_pools(n: int) -> dict[str, Any]:
    def adaptive_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        if _overridden_one(input):
            return _override(adaptive_with_indices, 2, input)
        return _aten(f"adaptive_max_pool{n}d")(input, _sizes(output_size, input, n))

    def adaptive(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            return adaptive_with_indices(input, output_size, return_indices)
        if _overridden_one(input):
            return _override(adaptive, 2, input)
        pair = adaptive_with_indices(input, output_size)
        return pair[0]

    def adaptive_mean(input: Any, output_size: Any) -> Any:
        if _overridden_one(input):
            return _override(adaptive_mean, 2, input)
        return _aten(f"adaptive_avg_pool{n}d")(input, _sizes(output_size, input, n))

    return _named(
        {
            f"adaptive_max_pool{n}d_with_indices": (adaptive_with_indices, "Maxima and their places, to a given size."),
            f"adaptive_max_pool{n}d": (adaptive, "Maxima pooled to a given size."),
            f"adaptive_avg_pool{n}d": (adaptive_mean, "Means pooled to a given size."),
        }
    )


def _sizes(output_size: Any, input: Any, n: int) -> Any:
    if isinstance(output_size, int):
        return (output_size,) * n
    if len(input.shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if not output_size:
        return ()
    return tuple(v if v is not None else d for v, d in zip(output_size, input.shape[-len(output_size) :], strict=True))


def _unpool_size(input: Any, kernel: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    n = len(kernel)
    fallback = [(input.shape[i - n] - 1) * stride[i] + kernel[i] - 2 * padding[i] for i in range(n)]
    if output_size is None:
        return fallback
    given = list(output_size)
    if len(given) == n + 2:
        given = given[2:]
    if len(given) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(given)}'"
        )
    for i in range(n):
        low, high = fallback[i] - stride[i], fallback[i] + stride[i]
        if not low < given[i] < high:
            raise ValueError(f'invalid output_size "{given}" (dim {i} must be between {low} and {high})')
    return given


for _n in (1, 2, 3):
    globals().update(_max_pools(_n) | _adaptive_pools(_n))


def lp_pool(n: int) -> Any:
    """The function lp_pool1d, 2d or 3d."""

    def run(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        if _overridden_one(input):
            return _override(run, 3, input)
        kernel = _tuple(kernel_size, n)
        count = 1
        for k in kernel:
            count *= k
        step = () if stride is None else stride
        if norm_type == math.inf:
            return _aten(f"max_pool{n}d")(input.abs(), kernel if n > 1 else kernel_size, step, 0, 1, ceil_mode)
        powers = input.pow(norm_type)
        mean = _aten(f"avg_pool{n}d")(powers, kernel if n > 1 else kernel_size, step, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)

    run.__name__ = run.__qualname__ = f"lp_pool{n}d"
    run.__doc__ = "(Σ x^p)^(1/p) over windows; for infinity the largest magnitude."
    return run


lp_pool1d, lp_pool2d, lp_pool3d = lp_pool(1), lp_pool(2), lp_pool(3)


def functions() -> dict[str, Any]:
    """What nn.functional takes from here."""
    return {
        k: v for k, v in globals().items() if k[0] != "_" and callable(v) and k not in ("functions", "lp_pool", "Any")
    }
