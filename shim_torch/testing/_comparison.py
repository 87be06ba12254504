"""``assert_close`` with PyTorch's default tolerances and messages, and the parts that test suites build on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import deprecated

from shim_torch._impl.native import _core
from shim_torch._impl.testing.mismatch import (
    ErrorMeta,
    UnsupportedInputs,
    default_tolerances,
    get_tolerances,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
)
from shim_torch._impl.testing.pairs import BooleanPair, NonePair, NumberPair, ObjectPair, Pair
from shim_torch._impl.testing.tensor_pairs import TensorLikePair, originate_pairs

__all__ = [
    "BooleanPair",
    "ErrorMeta",
    "NonePair",
    "NumberPair",
    "ObjectPair",
    "Pair",
    "TensorLikePair",
    "UnsupportedInputs",
    "assert_allclose",
    "assert_close",
    "default_tolerances",
    "get_tolerances",
    "make_scalar_mismatch_msg",
    "make_tensor_mismatch_msg",
    "not_close_error_metas",
    "originate_pairs",
]

Tensor = _core.Tensor


def not_close_error_metas(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    **options: Any,
) -> list[ErrorMeta]:
    """The mismatches of nested values, compared by ``pair_types`` (the first that takes the values).

    Errors: what the inputs cannot be compared for (other lengths or keys: AssertionError; no pair takes them: TypeError).
    """
    __tracebackhide__ = True
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as error:
        raise error.to_error() from None
    return [found for found in map(_mismatch, pairs) if found is not None]


def _mismatch(pair: Pair) -> ErrorMeta | None:
    __tracebackhide__ = True
    try:
        pair.compare()
        return None
    except ErrorMeta as error:
        return error.with_traceback(None)  # a traceback would keep this frame, and so itself, alive
    except Exception as error:
        raise RuntimeError(f"Comparing\n\n{pair}\n\nresulted in the unexpected exception above.") from error


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere.

    Takes tensors, numbers, arrays, and sequences or mappings of them. rtol and atol come together; their defaults
    depend on the dtype (float32 1.3e-6 and 1e-5). Errors also for different shapes, and as asked, dtypes, devices,
    layouts and strides.
    """
    __tracebackhide__ = True
    metas = not_close_error_metas(
        actual,
        expected,
        pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    if metas:
        raise metas[0].to_error(msg)


# (rtol, atol) of assert_allclose, by dtype; 0 for others
_OLDER = {_core.float16: (1e-3, 1e-3), _core.float32: (1e-4, 1e-5), _core.float64: (1e-5, 1e-8)}


@deprecated(
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
    "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
    "https://github.com/pytorch/pytorch/issues/61844.",
    category=FutureWarning,
)
def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: ``assert_close`` without a check of dtypes, of anything that tensors are made of.

    The defaults of rtol and atol are its own: float16 1e-3 and 1e-3, float32 1e-4 and 1e-5, float64 1e-5 and 1e-8.
    """
    import shim_torch

    tensors = [x if isinstance(x, Tensor) else shim_torch.tensor(x) for x in (actual, expected)]
    own = default_tolerances(*tensors, dtype_precisions=_OLDER) if rtol is atol is None else (rtol, atol)
    options: dict[str, Any] = dict(zip(("rtol", "atol"), own, strict=True), equal_nan=equal_nan, check_dtype=False)
    for found in not_close_error_metas(*tensors, pair_types=(TensorLikePair,), **options):
        raise found.to_error(msg or None)


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    """The local tensors of distributed ones: there are none here, so the inputs."""
    return actual, expected
