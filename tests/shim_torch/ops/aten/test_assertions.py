"""Checks as operators: of values, of bounds, and of what LAPACK reports."""

from __future__ import annotations

import pytest

import shim_torch as torch

ops = torch.ops.aten


def test_values():
    ops._assert_async.msg(torch.tensor(True), "fine")
    with pytest.raises(RuntimeError, match="not so"):
        ops._assert_async.msg(torch.tensor(0), "not so")
    ops._assert_scalar(1, "fine")
    with pytest.raises(RuntimeError, match="is nothing"):
        ops._assert_scalar(0, "is nothing")


def test_bounds():
    ops.sym_constrain_range(3, min=1, max=4)
    with pytest.raises(RuntimeError, match="Invalid value range for 9 between \\[1, 4\\]"):
        ops.sym_constrain_range(9, min=1, max=4)


def test_what_lapack_reports():
    torch._linalg_check_errors(torch.tensor(0, dtype=torch.int32), "linalg.inv", is_matrix=True)
    with pytest.raises(torch.linalg.LinAlgError, match="The diagonal element 2 is zero"):
        torch._linalg_check_errors(torch.tensor(2, dtype=torch.int32), "linalg.inv", is_matrix=True)
    with pytest.raises(torch.linalg.LinAlgError, match="\\(Batch element 1\\)"):
        torch._linalg_check_errors(torch.tensor([0, 3], dtype=torch.int32), "linalg.cholesky", is_matrix=False)
