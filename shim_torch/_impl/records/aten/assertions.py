"""Checks as operators: of values, of symbols, and of what LAPACK reports."""

from __future__ import annotations

from shim_torch._impl.records.shared.matrices import LinAlgError
from shim_torch._impl.table.aten_declare import aten
from shim_torch._impl.table.calls import torch

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


@aten("_assert_async.msg")
def _assert_async(self, message):
    if self.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if not self.numel() else 'more than one value'} is ambiguous"
        )
    if not self.is_meta and not bool(self.item()):
        raise RuntimeError(message)


@aten("_functional_assert_async.msg")
def _functional_assert_async(self, message, dep_token):
    _assert_async(self, message)
    return dep_token.clone()


@aten("_assert_scalar")
def _assert_scalar(self, message):
    if not self:
        raise RuntimeError(message)


@aten("_functional_assert_scalar")
def _functional_assert_scalar(self, message, dep_token):
    _assert_scalar(self, message)
    return dep_token.clone()


@aten("sym_constrain_range", public=True)
def sym_constrain_range(size, min, max):
    """RuntimeError where a number is out of the range [min, max]; what is None is not looked at."""
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


@aten("sym_constrain_range_for_size", public=True)
def sym_constrain_range_for_size(size, min, max):
    """The same of a size, which is not negative."""
    low = 0 if min is None else min
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, low, max)


@aten("_functional_sym_constrain_range")
def _functional_sym_constrain_range(size, min, max, dep_token):
    sym_constrain_range(size, min, max)
    return dep_token.clone()


@aten("_functional_sym_constrain_range_for_size")
def _functional_sym_constrain_range_for_size(size, min, max, dep_token):
    sym_constrain_range_for_size(size, min, max)
    return dep_token.clone()


@aten("_make_dep_token")
def _make_dep_token(dtype, layout, device, pin_memory, memory_format):
    return torch.empty((), dtype=dtype, device=device)


@aten("_print")
def _print(text):
    print(text)


@aten("_linalg_check_errors", public=True)
def _linalg_check_errors(info, api_name, is_matrix):
    """Raises what LAPACK's ``info`` says of the first matrix that failed; nothing where all are 0."""
    if info.is_meta or not bool(info.any()):
        return
    flat = info.reshape(-1).tolist()
    at = next(i for i, code in enumerate(flat) if code)
    where = "" if is_matrix else f"(Batch element {at}): "
    code = flat[at]
    if code < 0:
        raise RuntimeError(
            f"{api_name}: {where}Argument {-code} has illegal value. Most certainly there is a bug in the implementation calling the backend library."
        )
    error = LinAlgError
    if "inv" in api_name:
        raise error(
            f"{api_name}: {where}The diagonal element {code} is zero, the inversion could not be completed because the input matrix is singular."
        )
    if "solve" in api_name:
        raise error(f"{api_name}: {where}The solver failed because the input matrix is singular.")
    if "cholesky" in api_name:
        raise error(
            f"{api_name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of order {code} is not positive-definite)."
        )
    if "svd" in api_name:
        raise error(
            f"{api_name}: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: {code})."
        )
    if "eig" in api_name:
        raise error(
            f"{api_name}: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: {code})."
        )
    if "lstsq" in api_name:
        raise error(
            f"{api_name}: {where}The least squares solution could not be computed because the input matrix does not have full rank (error code: {code})."
        )
    if "lu_factor" in api_name:
        raise RuntimeError(
            f"{api_name}: {where}U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    raise RuntimeError(f"{api_name}: Unknown error code: {code}.")
