"""``assert_close`` with PyTorch's default tolerances and messages, and the parts that test suites build on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from native import _core
from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of
from shim_torch.testing._mismatch import (
    ErrorMeta,
    UnsupportedInputs,
    default_tolerances,
    get_tolerances,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
)
from shim_torch.testing._pairs import (
    BooleanPair,
    NonePair,
    NumberPair,
    ObjectPair,
    Pair,
    TensorLikePair,
    originate_pairs,
)

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
    kinds: dict[str, Any] = {"pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types}
    try:
        pairs = originate_pairs(actual, expected, **kinds, **options)
    except ErrorMeta as error:
        raise error.to_error() from None
    metas = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as error:
            metas.append(error.with_traceback(None))  # a traceback would keep this frame, and so itself, alive
        except Exception as error:
            raise RuntimeError(f"Comparing\n\n{pair}\n\nresulted in the unexpected exception above.") from error
    return metas


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


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: ``assert_close`` without a check of dtypes."""
    actual = actual if isinstance(actual, Tensor) else _tensor(actual)
    expected = expected if isinstance(expected, Tensor) else _tensor(expected)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


def _tensor(x: Any) -> Any:
    import shim_torch

    return shim_torch.as_tensor(x)


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    """The local tensors of distributed ones: there are none here, so the inputs."""
    return actual, expected

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
