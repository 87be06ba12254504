"""``torch.sparse``: products, sums and softmax of sparse tensors. The tensors themselves are ``torch.sparse_coo_tensor`` and others."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "solve",
    "spdiags",
    "sum",
]


def _aten() -> Any:
    import shim_torch

    return shim_torch.ops.aten


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product of two matrices, of which any may be sparse; the gradient of a sparse one is sparse."""
    if reduce is not None:
        from shim_torch._impl.sparse.products import mm_reduce

        return mm_reduce(mat1, mat2, reduce)
    if mat1.layout == mat2.layout == _core.strided:
        return mat1.mm(mat2)
    return _aten()._sparse_mm(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * mat + alpha * mat1 @ mat2, where ``mat1`` may be sparse; its gradient is sparse then."""
    if mat1.layout == mat2.layout == mat.layout == _core.strided:
        return mat.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return _aten()._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None) -> Any:
    """alpha * (mat1 @ mat2) at the entries of the CSR tensor ``input``, plus beta * input."""
    if out is not None:
        return _aten().sparse_sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha, out=out)
    return _aten().sparse_sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over all dims (dense) or over some (sparse while a sparse dim is left)."""
    if input.layout == _core.strided:
        return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)
    given: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return _aten()._sparse_sum(input, **given)
    return _aten()._sparse_sum(input, (dim,) if isinstance(dim, int) else tuple(dim), **given)


def _softmax(name: str, input: Any, dim: int, dtype: Any) -> Any:
    if input.layout == _core.strided:
        return getattr(input, name)(dim, dtype)
    return getattr(_aten(), f"_sparse_{name}").int(input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along a dim over the entries that are there: the others count as minus infinity."""
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``softmax``."""
    return _softmax("log_softmax", input, dim, dtype)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix whose diagonals, numbered by ``offsets``, are the rows of ``diagonals``."""
    from shim_torch._impl.sparse.diagonals import spdiags as body

    return body(diagonals, offsets, shape, layout)


class check_sparse_tensor_invariants:
    """Whether indices of new sparse tensors are checked: a switch, a context manager and a decorator."""

    @staticmethod
    def is_enabled() -> bool:
        """Whether they are checked now."""
        from shim_torch._impl.sparse import invariants

        return invariants.enabled

    @staticmethod
    def enable() -> None:
        """Checks from now on."""
        from shim_torch._impl.sparse import invariants

        invariants.enabled = invariants.chosen = True

    @staticmethod
    def disable() -> None:
        """Doesn't check from now on."""
        from shim_torch._impl.sparse import invariants

        invariants.enabled, invariants.chosen = False, True

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        from shim_torch._impl.sparse import invariants

        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        invariants.enabled, invariants.chosen = self.state, True

    def __exit__(self, *_: object) -> None:
        from shim_torch._impl.sparse import invariants

        assert self.saved_state is not None
        invariants.enabled = self.saved_state
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``gradcheck`` for functions of sparse tensors: it sees functions of their values."""
    from shim_torch._impl.sparse.gradcheck import as_sparse_gradcheck as body

    return body(gradcheck)


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Raises NotImplementedError: there are no kernels for 2:4 sparse tensors."""
    raise NotImplementedError("torch.sparse.to_sparse_semi_structured is not supported by shim-torch")


class SparseSemiStructuredTensor:
    """The type of 2:4 sparse tensors; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(f"torch.sparse.{type(self).__name__} is not supported by shim-torch")


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """2:4 sparse tensors for CUTLASS; there are none."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """2:4 sparse tensors for cuSPARSELt; there are none."""


def __getattr__(name: str) -> Any:
    if name == "Tensor":  # PyTorch's module has imported it
        return _core.Tensor
    if name.endswith("Tensor"):
        from shim_torch._impl.tensor.legacy_types import TENSORS

        if name in TENSORS:
            from shim_torch._impl.sparse.legacy import legacy_type

            return legacy_type(name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.sparse", name)
