"""``torch.autograd.anomaly_mode``: which forward call made the node whose backward failed."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _Anomaly:
    def __init__(self, mode: bool, check_nan: bool) -> None:
        self.prev = _core.is_anomaly_enabled()
        self.prev_check_nan = _core.is_anomaly_check_nan_enabled()
        self.mode, self.check_nan = mode, check_nan

    def __exit__(self, *args: object) -> None:
        _core.set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(_Anomaly):
    """Within it, a failing backward prints the forward call's traceback; ``check_nan``: NaN gradients are errors."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _core.set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_Anomaly):
    """Switches anomaly detection on or off; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(mode, check_nan)
        _core.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass


def _stack() -> list[str]:
    """The forward call's stack, as the node keeps it."""
    import traceback

    return traceback.format_stack()[:-1]


def _report(name: str, metadata: dict[str, Any]) -> None:
    """Warns of the failing node, and of those whose backward made it."""
    if "traceback_" not in metadata:
        warnings.warn(
            f"Error detected in {name}. No forward pass information available. Enable detect anomaly during forward pass for "
            "more information.",
            stacklevel=2,
        )
        return
    warnings.warn(
        f"Error detected in {name}. Traceback of forward call that caused the error:\n{''.join(metadata['traceback_'])}",
        stacklevel=2,
    )
    parent = metadata.get("parent_")
    while parent is not None:
        about = parent.metadata
        if "traceback_" not in about:
            warnings.warn(
                "\n\n"
                f"Previous calculation was induced by {parent.name()}. No forward pass information available. Enable detect "
                "anomaly during forward pass for more information.",
                stacklevel=2,
            )
            break
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n{''.join(about['traceback_'])}",
            stacklevel=2,
        )
        parent = about.get("parent_")


def _has_nan(t: Any) -> bool:
    return bool((t != t).any().item())


for _class in (detect_anomaly, set_detect_anomaly):
    _class.__module__ = "torch.autograd.anomaly_mode"
