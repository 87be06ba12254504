"""What torch.linalg refuses, in PyTorch's words, and what it gives for empty matrices."""

import math

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


def test_factors_of_empty_matrices():
    P, L_, U = torch.linalg.lu(torch.zeros(2, 0, 3))
    assert P.shape == (2, 0, 0) and L_.shape == (2, 0, 0) and U.shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda out: torch.linalg.cond(A, out=out),
            "linalg.cond: Expected result to be safely castable from Float dtype",
        ),
        (
            lambda out: torch.linalg.tensorinv(A.view(2, 2), ind=1, out=out),
            "tensorinv: Expected result to be safely castable",
        ),
        (lambda out: torch.fft.fft(A, out=out), "fft expects a complex output tensor, but got Int"),
        (
            lambda out: torch.linalg.qr(A, out=(out, out.clone())),
            "Expected out tensor to have dtype float, but got int instead",
        ),
    ],
)
def test_texts_of_out(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.empty(0, dtype=torch.int32))


def test_singular_matrices_are_named():
    with pytest.raises(torch.linalg.LinAlgError, match="cholesky_inverse: The diagonal element 1 is zero"):
        torch.cholesky_inverse(torch.zeros(2, 2))
    with pytest.raises(torch.linalg.LinAlgError, match="does not have full rank"):
        torch.linalg.lstsq(torch.ones(3, 2), torch.ones(3, 1), driver="gels")
