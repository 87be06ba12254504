"""``torch._subclasses.meta_utils``: what a tensor is like, without its data."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.fake.meta_converter import MetaConverter, MetaTensorDescriber

__all__ = [
    "MetaConverter",
    "MetaTensorDescriber",
    "assert_eq",
    "assert_metadata_eq",
    "is_sparse_any",
    "is_sparse_compressed",
    "is_sparse_compressed_layout",
    "is_sparse_coo",
    "safe_grad",
    "safe_is_leaf",
]


def assert_eq(a: Any, b: Any) -> None:
    """AssertionError where two values differ."""
    if a != b:
        raise AssertionError(f"{a} != {b}")


def safe_is_leaf(t: Any) -> bool:
    """Whether a tensor is a leaf; False where it has no place in a graph."""
    try:
        return bool(t.is_leaf)
    except RuntimeError:
        return False


def safe_grad(t: Any) -> Any:
    """A tensor's gradient, without the warning for those that are no leaves."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The .grad attribute of a Tensor")
        return t.grad


def assert_metadata_eq(
    assert_eq: Any, m1: Any, m2: Any, *, skip_symbolic: bool = False, skip_leaf: bool = False
) -> None:
    """Calls ``assert_eq`` for everything that two tensors must share to be alike but for their data and device."""

    def sizes(a: Any, b: Any) -> None:
        assert_eq(tuple(a.shape), tuple(b.shape))
        if a.layout == _core.strided:
            assert_eq(tuple(a.stride()), tuple(b.stride()))
            assert_eq(a.storage_offset(), b.storage_offset())

    def alike(a: Any, b: Any) -> None:
        assert_eq(a.dtype, b.dtype)
        if not skip_symbolic:
            assert_eq(tuple(a.shape), tuple(b.shape))
        assert_eq(a.requires_grad, b.requires_grad)
        if not skip_leaf:
            assert_eq(safe_is_leaf(a), safe_is_leaf(b))
        assert_eq(a.grad_fn is None, b.grad_fn is None)
        assert_eq(a.layout, b.layout)
        assert_eq(a.is_inference(), b.is_inference())
        assert_eq(a.is_conj(), b.is_conj())
        assert_eq(a.is_neg(), b.is_neg())
        assert_eq(safe_grad(a) is not None, safe_grad(b) is not None)
        if safe_grad(a) is not None:
            alike(safe_grad(a), safe_grad(b))
        if a.is_sparse:
            assert_eq(
                (a.dense_dim(), a.sparse_dim(), a.is_coalesced()), (b.dense_dim(), b.sparse_dim(), b.is_coalesced())
            )
        elif not skip_symbolic:
            sizes(a, b)
        assert_eq(a._is_view(), b._is_view())
        if a._is_view():
            alike(a._base, b._base)

    alike(m1, m2)


def is_sparse_compressed_layout(layout: Any) -> bool:
    """Whether a layout is CSR, CSC, BSR or BSC."""
    return layout in (_core.sparse_csr, _core.sparse_csc, _core.sparse_bsr, _core.sparse_bsc)


def is_sparse_any(t: Any) -> bool:
    """Whether a tensor has a sparse layout."""
    return is_sparse_coo(t) or is_sparse_compressed(t)


def is_sparse_coo(t: Any) -> bool:
    """Whether a tensor is a COO tensor."""
    return isinstance(t, _core.TensorBase) and t.layout == _core.sparse_coo


def is_sparse_compressed(t: Any) -> bool:
    """Whether a tensor is a CSR, CSC, BSR or BSC tensor."""
    return isinstance(t, _core.TensorBase) and is_sparse_compressed_layout(t.layout)
