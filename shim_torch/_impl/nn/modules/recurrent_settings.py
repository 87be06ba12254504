"""What recurrent layers refuse of their settings."""

from __future__ import annotations

import numbers
import warnings
from typing import Any


def check_settings(layer: Any, dropout: Any) -> None:
    """TypeError for settings of a wrong type, ValueError for impossible ones; warns of dropout with a single layer."""
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and layer.num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
            f"than 1, but got dropout={dropout} and num_layers={layer.num_layers}",
            stacklevel=4,
        )
    for name in ("bias", "batch_first"):
        value = getattr(layer, name)
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name in ("input_size", "hidden_size"):
        value = getattr(layer, name)
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
    if layer.input_size <= 0:
        raise ValueError("input_size must be greater than zero")
    if layer.hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if layer.num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if layer.proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if layer.proj_size >= layer.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
