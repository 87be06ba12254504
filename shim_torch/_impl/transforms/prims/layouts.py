"""Strides and metadata of ``torch._prims_common``: comparing two tensors' without their values, and elementwise layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq
from typing import Any

from shim_torch._impl.native import _core

Tensor = _core.Tensor


def same_shape(a: Sequence[int], b: Sequence[int], *, allow_rhs_unbacked: bool = False) -> bool:
    """Whether two shapes are equal."""
    return tuple(a) == tuple(b)


def is_cpu_scalar_tensor(a: Any) -> bool:
    """Whether ``a`` is a tensor of no dims on the CPU."""
    return isinstance(a, Tensor) and a.dim() == 0 and a.device.type == "cpu"


def _strides_differ_at(a: Any, b: Any, only_cuda: bool, significant_only: bool) -> tuple[bool, int | None]:
    if (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel() > 0:
        for d, (size, x, y) in enumerate(zip(a.shape, a.stride(), b.stride(), strict=True)):
            if x != y and (size > 1 or not significant_only):
                return False, d
    return True, None


def check_significant_strides(
    a: Any, b: Any, *, only_cuda: bool = True, allow_rhs_unbacked: bool = False
) -> tuple[bool, int | None]:
    """Whether the strides of dims longer than 1 agree, else the first that differ; CUDA tensors only, unless difference."""
    return _strides_differ_at(a, b, only_cuda, True)


def check_all_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """As ``check_significant_strides``, every dim counting."""
    return _strides_differ_at(a, b, only_cuda, False)


def compare_tensor_meta(
    a: Any,
    b: Any,
    check_sizes: bool = True,
    check_strides: bool = False,
    *,
    allow_rhs_unbacked: bool = False,
    check_conj: bool = True,
) -> None:
    """MetadataMismatchError unless shape, dtype, device and math bits (strides and offset, if asked) are the same."""
    from shim_torch._subclasses.fake_tensor import MetadataMismatchError

    for name, t in (("a", a), ("b", b)):
        if not isinstance(t, Tensor):
            raise AssertionError(f"{name} must be TensorLike, got {type(t)}")
    checked = {"Shapes": check_sizes, "Strides": check_strides, "Conj": check_conj}
    for name, difference in _META.items():
        text = difference(a, b) if checked.get(name, True) else None
        if text is not None:
            raise MetadataMismatchError(text)


def _unequal(
    names: str, of: Callable[[Any], Any], alike: Callable[[Any, Any], bool] = eq
) -> Callable[[Any, Any], str | None]:
    def difference(a: Any, b: Any) -> str | None:
        x, y = of(a), of(b)
        return None if alike(x, y) else f"{names} {x} and {y} are not equal!"

    return difference


def _same_device(x: Any, y: Any) -> bool:
    return x == y or {str(x), str(y)} == {"cuda", "cuda:0"}


def _unlike_placed(a: Any, b: Any) -> str | None:
    same, at = check_significant_strides(a, b, only_cuda=False)
    if not same:
        return f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {at})!"
    offsets = a.storage_offset(), b.storage_offset()
    return (
        None if offsets[0] == offsets[1] else "Storage offset mismatch! Storage offsets are {} and {}!".format(*offsets)
    )


def _unlike_bit(name: str) -> Callable[[Any, Any], str | None]:
    def difference(a: Any, b: Any) -> str | None:
        x, y = (getattr(t, f"is_{name.lower()}")() for t in (a, b))
        return None if x == y else f"{name} mismatch! is_{name.lower()} is set to {x} and {y}"

    return difference


_META: dict[
    str, Callable[[Any, Any], str | None]
] = {  # in the order of the checks: what two tensors differ by, or None
    "Shapes": _unequal("Shapes", lambda t: t.shape),
    "Dtypes": _unequal("Dtypes", lambda t: t.dtype),
    "Devices": _unequal("Devices", lambda t: t.device, _same_device),
    "Strides": _unlike_placed,
    "Conj": _unlike_bit("Conj"),
    "Neg": _unlike_bit("Neg"),
}


def apply_perm(inp: Sequence[Any], perm: Sequence[int]) -> list[Any]:
    """``inp`` in the order of ``perm``."""
    return [inp[p] for p in perm]


def invert_perm(perm: Sequence[int]) -> list[int]:
    """The permutation that undoes ``perm``."""
    return sorted(range(len(perm)), key=perm.__getitem__)


def _inner_order(tensors: Sequence[Any], x: int, y: int) -> int:
    """-1 where dim ``x`` is to lie inside of dim ``y``, 1 the other way, 0 where no tensor says it."""
    for t in tensors:
        inner, outer = t.stride(x), t.stride(y)
        if inner == 0 or outer == 0:
            continue
        if inner != outer:
            return -1 if inner < outer else 1
        if t.shape[x] > t.shape[y]:
            return 1
    return 0


def compute_elementwise_output_logical_to_physical_perm(
    *tensors: Any, _skip_checks: bool = False, ambiguity_check: bool = False
) -> tuple[list[int], bool]:
    """The dims from outermost to innermost as an elementwise result of the tensors has them, and whether that is open."""
    given = _shaped(tensors) if not _skip_checks else tensors
    if not given or given[0].dim() == 0:
        return [], False
    ndim = given[0].dim()
    order = list(range(ndim))
    if ndim == 1 or all(t.is_contiguous() for t in given):
        return order, False
    if ndim == 4 and all(t.is_contiguous(memory_format=_core.channels_last) for t in given):
        return [0, 2, 3, 1], False
    perm = order[::-1]
    for i in range(1, ndim):  # an insertion sort that passes over pairs no tensor orders
        at = i
        for j in reversed(range(i)):
            found = _inner_order(given, perm[j], perm[at])
            if found > 0:
                perm[j], perm[at] = perm[at], perm[j]
                at = j
            elif found < 0:
                break
    is_open = ambiguity_check and any(_inner_order(given, *pair) != -1 for pair in zip(perm, perm[1:], strict=False))
    return perm[::-1], is_open


def _shaped(tensors: Sequence[Any]) -> list[Any]:
    from shim_torch._prims_common import check_same_shape

    if not tensors:
        raise ValueError("Can't compute elementwise output strides for zero tensors!")
    check_same_shape(*tensors, allow_cpu_scalar_tensors=True)
    return [t for t in tensors if isinstance(t, Tensor) and not is_cpu_scalar_tensor(t)]


def compute_elementwise_output_strides(*tensors: Any) -> tuple[int, ...]:
    """The strides of an elementwise operator's result of tensors of one shape."""
    from shim_torch._prims_common import is_non_overlapping_and_dense, make_contiguous_strides_for

    given = _shaped(tensors)
    if not given:
        return ()
    if len(given) == 1 and given[0].dim() > 1 and is_non_overlapping_and_dense(given[0]):
        return tuple(given[0].stride())
    perm, _ = compute_elementwise_output_logical_to_physical_perm(*given, _skip_checks=True)
    inner = make_contiguous_strides_for(apply_perm(given[0].shape, perm))
    return tuple(apply_perm(inner, invert_perm(perm)))


def _strides_in(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def make_channels_last_1d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous (N, C, L) whose channels lie innermost."""
    if len(shape) != 3:
        raise RuntimeError("Only tensors of rank 3 can use the channels_last_1d memory format")
    return _strides_in(shape, (1, -1, 0))


def make_channels_last_2d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous (N, C, H, W) whose channels lie innermost."""
    if len(shape) != 4:
        raise RuntimeError("Only tensors of rank 4 can use the channels_last memory format")
    return _strides_in(shape, (1, -1, -2, 0))


def make_channels_last_3d_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous (N, C, D, H, W) whose channels lie innermost."""
    if len(shape) != 5:
        raise RuntimeError("Only tensors of rank 5 can use the channels_last_3d memory format")
    return _strides_in(shape, (1, -1, -2, -3, 0))


def is_channels_last_contiguous_2d(a: Any) -> bool:
    """Whether a 4-d tensor is contiguous in channels_last."""
    return a.dim() == 4 and bool(a.is_contiguous(memory_format=_core.channels_last))


def is_channels_last_contiguous_3d(a: Any) -> bool:
    """Whether a 5-d tensor is contiguous in channels_last_3d."""
    return a.dim() == 5 and bool(a.is_contiguous(memory_format=_core.channels_last_3d))


def validate_memory_format(memory_format: Any) -> None:
    """RuntimeError for what is no memory format."""
    known = (_core.contiguous_format, _core.preserve_format, _core.channels_last, _core.channels_last_3d)
    if memory_format not in known:
        raise RuntimeError(f"Received unknown memory format {memory_format}!")


def clone_preserve_strides(x: Any) -> Any:
    """A copy of ``x`` with its very strides and offset, gaps of its memory included."""
    from shim_torch._prims_common import compute_required_storage_length

    layout = x.size(), x.stride(), x.storage_offset()
    memory = x.as_strided((compute_required_storage_length(*layout),), (1,), 0)
    return memory.clone().as_strided(*layout)
