"""Functions of ``torch.nn.functional`` that draw at random, and activations in place."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nn.calls import _overridden, _overridden_one, _override, operators
from shim_torch._impl.table.calls import torch


def _alpha(name: str) -> Any:
    def run(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
        if _overridden_one(input):
            return _override(run, 1, input)
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        return getattr(operators, name + "_" if inplace else name)(input, p, training)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"torch.nn.functional.{name}."
    return run


alpha_dropout, feature_alpha_dropout = _alpha("alpha_dropout"), _alpha("feature_alpha_dropout")


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """x where positive, elsewhere times a slope drawn from U(lower, upper), or their mean when not training."""
    if _overridden_one(input):
        return _override(rrelu, 1, input)
    return (operators.rrelu_ if inplace else operators.rrelu)(input, lower, upper, training)


def _fractional(n: int) -> dict[str, Any]:
    def with_indices(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        if _overridden(input, _random_samples):
            return _override(with_indices, 2, input, _random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
        kernel = (kernel_size,) * n if isinstance(kernel_size, int) else tuple(kernel_size)
        ints = "Ints" if n == 2 else "three Ints"
        if len(kernel) != n:
            raise RuntimeError(f"fractional_max_pool{n}d: kernel_size must either be a single Int or tuple of {ints}")
        if output_size is None:
            ratio = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
            if len(ratio) != n:
                raise ValueError(
                    f"fractional_max_pool{n}d requires output_ratio to either be a single Int or tuple of {ints}."
                )
            output_size = [int(s * r) for s, r in zip(input.shape[-n:], ratio, strict=True)]
        size = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
        if len(size) != n:
            raise RuntimeError(f"fractional_max_pool{n}d: output_size must either be a single Int or tuple of {ints}")
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = torch.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
        return getattr(operators, f"fractional_max_pool{n}d")(input, kernel, size, _random_samples)

    def pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        if return_indices:
            return with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        if _overridden(input, _random_samples):
            return _override(pool, 2, input, _random_samples)
        return with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]

    names = {f"fractional_max_pool{n}d_with_indices": with_indices, f"fractional_max_pool{n}d": pool}
    for name, function in names.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = "Maxima over windows at places drawn at random."
    return names


def _in_place(name: str, *settings: Any) -> Any:
    """``relu_`` and the other in-place activations."""

    def run(input: Any, *args: Any, **kwargs: Any) -> Any:
        from shim_torch.nn import functional

        return getattr(functional, name)(input, *args, inplace=True, **kwargs)

    run.__name__ = run.__qualname__ = name + "_"
    run.__doc__ = f"{name} in place."
    return run


_IN_PLACE = {f"{n}_": _in_place(n) for n in "relu elu selu celu leaky_relu hardtanh threshold rrelu".split()}


def functions() -> dict[str, Any]:
    """The functions that nn.functional takes from here, by name."""
    drawing = {f.__name__: f for f in (alpha_dropout, feature_alpha_dropout, rrelu)}
    return {**drawing, **_IN_PLACE, **_fractional(2), **_fractional(3)}
