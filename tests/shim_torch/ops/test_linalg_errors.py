"""What torch.linalg refuses, in PyTorch's words, and what it gives for empty matrices."""

import math

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg
A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.lu_unpack(A, torch.zeros(2, dtype=torch.int32)), "pivots passed to lu_unpack must be between 1 and"),
        (lambda: torch.lu_unpack(A, torch.ones(2, dtype=torch.int64)), "LU_pivots is expected to be a contiguous tensor of torch.int32"),
        (lambda: L.lu_solve(A, torch.tensor([3, 2], dtype=torch.int32), A), r"must all be smaller or equal to LU.size\(-2\)"),
        (lambda: L.eig(A, out=(torch.empty(0, dtype=torch.complex64), torch.empty(0))), "Expected eigenvectors to be safely castable"),
        (lambda: torch.lu_solve(torch.ones(3, 1), *L.lu_factor(A)), r"linalg.lu_solve: Incompatible shapes .* AX = B \(2x2 and 3x1\)"),
        (lambda: L.lu(A, pivot=False), "LU without pivoting is not implemented on the CPU"),
        (lambda: torch.ormqr(torch.ones(3, 2), torch.ones(3), torch.ones(3, 3)), r"tau.shape\[-1\] must be equal to min"),
        (lambda: torch.ormqr(torch.ones(3, 2), torch.ones(2), torch.ones(2, 2)), r"other.shape\[-2\] must be equal to input.shape\[-2\]"),
        (lambda: L.householder_product(torch.ones(3, 2), torch.ones(2).double()), "tau dtype Double does not match input dtype Float"),
        (lambda: torch.triangular_solve(torch.ones(2, 1), torch.ones(3, 3)), "Incompatible matrix sizes for triangular_solve"),
        (lambda: torch.cholesky_inverse(torch.ones(2, 3)), "cholesky_inverse: A must be batches of square matrices"),
        (lambda: torch.cholesky_solve(torch.ones(2, 1), torch.ones(3, 3)), "Incompatible matrix sizes for cholesky_solve"),
        (lambda: L.eig(torch.full((2, 2), math.nan)), "input tensor should not contain infs or NaNs"),
        (lambda: L.svdvals(torch.full((2, 2), math.inf)), "the input matrix contained non-finite values"),
        (lambda: L.multi_dot([A, A.double()]), "tensor 0 is float and tensor 1 double"),
        (lambda: L.norm(A.double(), dtype=torch.float32), r"\(Double\) should be convertible without narrowing to the specified"),
        (lambda: torch.addr(A.int(), A[0].int(), A[0].int(), beta=0.5), "argument beta must not be a floating point number"),
        (lambda: torch.inner(torch.ones(2, 3), torch.ones(2)), r"inner\(\) the last dimension must match on both input tensors"),
        (lambda: torch.tensordot(A, A, dims=3), "tensordot expects dims < ndim_a or ndim_b, but got dims=3"),
        (lambda: torch.einsum("i.j", A), "found '.' for operand 0 that is not part of any ellipsis"),
        (lambda: torch.einsum("ii", torch.ones(2, 3)), "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
    ],
)  # fmt: skip
def test_texts(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_norms_of_empty_matrices():
    for ord in (1, 2, math.inf, "fro", "nuc"):
        assert L.norm(torch.zeros(0, 0), ord).item() == 0
    assert L.matrix_norm(torch.zeros(2, 0, 3), math.inf).tolist() == [0, 0]


def test_factors_of_empty_matrices():
    P, L_, U = torch.linalg.lu(torch.zeros(2, 0, 3))
    assert P.shape == (2, 0, 0) and L_.shape == (2, 0, 0) and U.shape == (2, 0, 3)


def test_a_singular_matrix_leaves_the_others_of_its_batch():
    inverse, info = L.inv_ex(torch.stack([A, A * 0]))
    assert info.tolist() == [0, 1]
    assert np.allclose((inverse[0] @ A).numpy(), np.eye(2), atol=1e-6)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_bessel_functions_over_all_sizes(name):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(1e-6, 60, 500), 10.0 ** np.arange(2, 6)])
    found = getattr(torch.special, f"bessel_{name}")(torch.from_numpy(x))
    assert np.allclose(found.numpy(), getattr(special, name)(x), rtol=1e-12, atol=1e-12)
    ends = getattr(torch.special, f"bessel_{name}")(torch.tensor([0.0, math.inf, math.nan]))
    assert ends[0].item() == {"j0": 1, "j1": 0}.get(name, -math.inf)
    assert math.isnan(ends[1]) and math.isnan(ends[2])  # at infinity too, as PyTorch has it


def test_condition_of_a_singular_matrix_is_infinite():
    for p in (1, "fro", "nuc"):
        assert L.cond(torch.stack([A, A * 0]), p)[1].item() == math.inf


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve_of_singular_matrices_gives_infinities(left, adjoint):
    """PyTorch's does not look for singular matrices: kornia solves all of a batch and drops those that failed."""
    inf, nan = math.inf, math.nan
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    LU, pivots, info = L.lu_factor_ex(torch.stack([A, singular]))
    found = L.lu_solve(LU, pivots, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), left=left, adjoint=adjoint)
    assert info.tolist() == [0, 2]
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    wanted = np.linalg.solve(A.numpy(), given if left else given.T)
    np.testing.assert_allclose(found[0].numpy(), wanted if left else wanted.T, rtol=1e-5)
    np.testing.assert_array_equal(found[1].numpy(), [[inf, nan], [-inf, nan]] if left else [[nan, nan], [-inf, inf]])


@pytest.mark.parametrize("shape", [(70, 70), (100, 45), (45, 100), (2, 40, 40)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_factors_of_matrices_wider_than_a_panel(shape, dtype):
    torch.manual_seed(0)
    given = torch.randn(shape, dtype=dtype)
    packed, pivots = L.lu_factor(given)
    P, lower, upper = torch.lu_unpack(packed, pivots)
    torch.testing.assert_close(P @ lower @ upper, given)
    below = lower.tril(-1)
    assert below.abs().max() <= 1.4143  # the head of a column has the largest |re| + |im|
    assert (pivots >= torch.arange(1, pivots.shape[-1] + 1)).all()


def test_the_first_zero_pivot_is_found_past_a_panel():
    given = torch.eye(50, dtype=torch.float64).repeat(2, 1, 1)
    given[1, 40, 40] = 0
    assert L.lu_factor_ex(given).info.tolist() == [0, 41]
    with pytest.raises(L.LinAlgError, match=r"\(Batch element 1\): The diagonal element 41 is zero"):
        torch.inverse(given)
