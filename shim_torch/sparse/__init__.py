"""``torch.sparse``: sparse tensors, which shim-torch has none of; functions on dense ones work."""

from __future__ import annotations

from typing import Any

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sum"]


def _dense(name: str, *tensors: Any) -> None:
    import shim_torch

    if any(t.layout != shim_torch.strided for t in tensors):
        raise NotImplementedError(f"torch.sparse.{name} of sparse tensors is not supported by shim-torch")


def mm(mat1: Any, mat2: Any) -> Any:
    """The product of two dense matrices."""
    _dense("mm", mat1, mat2)
    return mat1.mm(mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * mat + alpha * mat1 @ mat2, dense."""
    _dense("addmm", mat, mat1, mat2)
    return mat.addmm(mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a dense tensor."""
    _dense("sum", input)
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The softmax of a dense tensor."""
    _dense("softmax", input)
    return input.softmax(dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The log-softmax of a dense tensor."""
    _dense("log_softmax", input)
    return input.log_softmax(dim, dtype)


class check_sparse_tensor_invariants:
    """Whether sparse tensors are checked: there are none."""

    @staticmethod
    def is_enabled() -> bool:
        return False

    @staticmethod
    def enable() -> None:
        """There is nothing to check."""

    disable = enable

    def __init__(self, enable: bool = True) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    raise NotImplementedError("torch.sparse.to_sparse_semi_structured is not supported by shim-torch")


class SparseSemiStructuredTensor:
    """The type of 2:4 sparse tensors; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.sparse.SparseSemiStructuredTensor is not supported by shim-torch")


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.sparse", name)
