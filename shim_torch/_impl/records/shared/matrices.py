"""Checks and transposes that the families of linear algebra share."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.rules import NARROW
from shim_torch._impl.tensor.type_info import finfo


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix is singular, not positive definite, or an iteration did not converge."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


# The kernels that refuse low precision on the CPU, where no check came before them; for the last two, integers too.
_KERNELS = {
    "linalg.cholesky": "cholesky_cpu",
    "linalg.det": "lu_cpu",
    "linalg.solve": "lu_cpu",
    "linalg.eig": "linalg_eig_out_cpu",
    "linalg.svd": "linalg_svd_cpu",
    "linalg.svdvals": "linalg_svd_cpu",
    "svd": "linalg_svd_cpu",
    "linalg.qr": "geqrf_cpu",
    "torch.linalg.lu_solve": "linalg.lu_solve_cpu",
    "torch.linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
    "torch.linalg.ldl_solve": "ldl_solve_kernel_cpu",
    "linalg.eigh": "linalg_eigh_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu",
}
_NO_CHECK = ("linalg.eigh", "linalg.solve_triangular")
_SAYING = {"linalg.svdvals": "linalg.svd", "svd": "linalg.svd"}


def check_matrix(name: str, a: Any, square: bool = False, argument: str = "A") -> Any:
    """The dtype of a batch of matrices; RuntimeError in torch.linalg's words where it is none."""
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    low = a.dtype in NARROW or a.dtype.itemsize == 1
    if a.device.type == "cpu" and (
        (low and a.dtype.is_floating_point and name in _KERNELS)
        or (name in _NO_CHECK and not (a.dtype.is_floating_point or a.dtype.is_complex))
    ):
        raise NotImplementedError(f"\"{_KERNELS[name]}\" not implemented for '{_core.scalar_name(a.dtype)}'")
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        name = _SAYING.get(name, name)
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {_core.scalar_name(a.dtype)}"
        )
    if low:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {_core.scalar_name(a.dtype)}")
    return a.dtype


def adjoint(t: Any) -> Any:
    """The conjugate transpose of the last two dims."""
    t = t.transpose(-2, -1)
    return t.conj() if t.is_complex() else t


def swapped(xp: Any, a: Any) -> Any:
    """The transpose of an array's last two axes."""
    return xp.swapaxes(a, -1, -2)


def first_failed(info: Any) -> tuple[str, int]:
    """ "(Batch element 2): " and LAPACK's info of the first matrix of a batch that failed."""
    flat = info.reshape(-1)
    at = int((flat > 0).argmax())
    return (f"(Batch element {at}): " if info.ndim else ""), int(flat[at])


def on_cuda(a: Any) -> bool:
    """Whether an array is CuPy's."""
    return type(a).__module__.partition(".")[0] == "cupy"


def cuda_linalg() -> Any:
    """cuSOLVER and cuBLAS, for the bodies that get arrays of CuPy."""
    from shim_torch._impl.arrays import cuda_linalg as found

    return found


def square_shape(name: str, argument: str = "A") -> Any:
    """A shape rule for two results: as the matrices (*, n, n), which are checked, and a number (*) for each."""

    def rule(self: Any) -> Any:
        check_matrix(name, self, True, argument)
        return [tuple(self.shape), tuple(self.shape[:-2])]

    return rule


def refuse_phases(name: str, of: str, depends: str, *imaginary: Any) -> None:
    """RuntimeError where a loss depends on the phase of complex vectors, which a decomposition leaves open.

    ``imaginary``: what the loss changes by as each side's phases turn; together they must cancel. Nothing is read of tensors without
    values (meta, batched and traced ones).
    """
    there = [x for x in imaginary if x is not None]
    if any(x.is_meta or type(x) is not _core.Tensor for x in there) or not there:
        return
    first, second = there[0], -there[1] if len(there) > 1 else torch.zeros_like(there[0])
    if not bool(torch.allclose(first.detach(), second.detach(), rtol=1e-2, atol=1e-2)):
        raise RuntimeError(
            f"{name}: The {of} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss function "
            f"depends on this {depends}"
        )


def identity(a: Any, n: int) -> Any:
    """The identity of ``n`` rows, of the dtype and device of ``a``."""
    return torch.eye(n, dtype=a.dtype, device=a.device)


def epsilon(a: Any) -> float:
    """The rounding error of the dtype of ``a``."""
    return finfo(a.dtype).eps


def rank_tolerances(a: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """PyTorch's defaults: rtol is epsilon · max(m, n) unless an absolute tolerance is given."""
    if rtol is None:
        fallback = epsilon(a) * max(a.shape[-2:])
        if isinstance(atol, _core.TensorBase):
            rtol = (atol <= 0).to(atol.dtype) * fallback
        else:
            rtol = 0.0 if atol is not None and atol > 0 else fallback
    return (0.0 if atol is None else atol), rtol


def refuse_complex_tolerances(name: str, **given: Any) -> None:
    """RuntimeError where a tolerance is a complex tensor."""
    for what, t in given.items():
        if isinstance(t, _core.TensorBase) and t.is_complex():
            raise RuntimeError(
                f"{name}: {what} tensor of complex type is not supported. Got {_core.scalar_name(t.dtype)}"
            )
