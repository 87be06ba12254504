"""``torch.utils.flop_counter``: how many operations the matrix products of a program take, by module."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

from shim_torch._impl.utils.flop_attention import (  # noqa: F401
    _offsets_to_lengths,
    _unpack_efficient_attention_nested_shapes,
    _unpack_flash_attention_nested_shapes,
)
from shim_torch._impl.utils.flop_formulas import (
    addmm_flop,
    aten,
    baddbmm_flop,
    bmm_flop,
    conv_backward_flop,
    conv_flop,
    conv_flop_count,
    flop_registry,
    get_shape,
    mm_flop,
    register_flop_formula,
    sdpa_backward_flop,
    sdpa_backward_flop_count,
    sdpa_flop,
    sdpa_flop_count,
    shape_wrapper,
)
from shim_torch.utils._python_dispatch import TorchDispatchMode, _any_batched
from shim_torch.utils.module_tracker import ModuleTracker

__all__ = [
    "FlopCounterMode",
    "addmm_flop",
    "aten",
    "baddbmm_flop",
    "bmm_flop",
    "conv_backward_flop",
    "conv_flop",
    "conv_flop_count",
    "convert_num_with_suffix",
    "convert_to_percent_str",
    "flop_registry",
    "get_shape",
    "get_suffix_str",
    "mm_flop",
    "register_flop_formula",
    "sdpa_backward_flop",
    "sdpa_backward_flop_count",
    "sdpa_flop",
    "sdpa_flop_count",
    "shape_wrapper",
]
suffixes = ["", "K", "M", "B", "T"]
_SAME = {aten._convolution_weight: aten.convolution_backward}  # ours -> the operator it is counted as


def get_suffix_str(number: float) -> str:
    """The suffix that leaves up to three more digits than one before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """A number in the unit of a suffix, to three places."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """A share as a percentage, to two places."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class FlopCounterMode:
    """A context that counts the operations of the matrix products within, forward and backward, by module.

    depth: how deep get_table goes. display: whether the table is printed at the end. custom_mapping: further formulas,
    ``{torch.ops.aten.add: formula}``, as register_flop_formula takes them.

    >>> with FlopCounterMode(display=False) as counter:  # doctest: +SKIP
    ...     model(x).sum().backward()
    >>> counter.get_total_flops()  # doctest: +SKIP
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        given = {k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **given}
        self.mod_tracker = ModuleTracker()
        self.mode: Any = None

    def get_total_flops(self) -> int:
        """Of all modules and operators."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{module: {operator: operations}}, the whole program under "Global"."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, down to so many levels of modules."""
        import tabulate

        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = get_suffix_str(total)
        modules = [m for m in self.flop_counts if m != "Global" and m.count(".") + 1 <= depth]
        # A module that has all of the operations says all that "Global" would.
        covered = any(sum(self.flop_counts[m].values()) >= total for m in modules)
        rows: list[list[str]] = []
        for name in sorted(modules):
            rows += self._rows(name, name.count("."), total, unit)
        if not covered and ("Global" in self.flop_counts):
            rows = self._rows("Global", 0, total, unit) + [[" " + row[0], *row[1:]] for row in rows]
        return tabulate.tabulate(
            rows or [["Global", "0", "0%"]],
            headers=["Module", "FLOP", "% Total"],
            colalign=("left", "right", "right"),
        )

    def _rows(self, name: str, depth: int, total: int, unit: str) -> list[list[str]]:
        counts = self.flop_counts[name]
        lines = [(name, sum(counts.values()), "")] + [(str(op), n, " - ") for op, n in counts.items()]
        pad = " " * depth
        return [[pad + m + t, convert_num_with_suffix(n, unit), convert_to_percent_str(n, total)] for t, n, m in lines]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        self.mode.__exit__(*args)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _note(self, packet: Any, out: Any, args: Any, kwargs: Any) -> None:
        """Counts an operator that has a formula, for every module that is running."""
        if packet not in self.flop_registry:
            return
        count = self.flop_registry[packet](*args, **kwargs, out_val=out)
        for module in sorted(self.mod_tracker.parents):
            self.flop_counts[module][_SAME.get(packet, packet)] += count


class _FlopCounterMode(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _any_batched(args, kwargs):
            return NotImplemented
        out = func(*args, **kwargs)
        self.counter._note(getattr(func, "_overloadpacket", func), out, args, kwargs)
        return out
