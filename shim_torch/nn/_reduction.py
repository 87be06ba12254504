"""Numbers of the loss reductions (torch.nn._reduction)."""

from __future__ import annotations


def get_enum(reduction: str) -> int:
    """The number of a reduction: none 0, mean 1, sum 2. ValueError for others."""
    numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if not isinstance(reduction, str) or reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the deprecated ``size_average`` and ``reduce`` mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    meant = "mean" if size_average and reduce else "sum" if reduce else "none"
    if emit_warning:
        import warnings

        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=2
        )
    return meant


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Its number, as ``get_enum``."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
