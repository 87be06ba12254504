"""torch._foreach_* give tuples; special functions at their poles; texts of out= in torch.linalg and torch.fft."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.testing import make_tensor

XS = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


def test_foreach_results_are_tuples():
    for found in (
        torch._foreach_add(XS, 1),
        torch._foreach_sqrt(XS),
        torch._foreach_norm(XS),
        torch._foreach_pow(2.0, XS),
    ):
        assert type(found) is tuple and len(found) == 2
    assert [t.item() for t in torch._foreach_powsum(XS, 2)] == [5, 9]
    with pytest.raises(RuntimeError, match="max over zero elements is undefined"):
        torch._foreach_max([torch.tensor([])])


def test_amp_unscale():
    gradients, found = [torch.tensor([2.0]), torch.tensor([4.0])], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    assert [g.item() for g in gradients] == [1, 2] and found.item() == 0
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([math.inf])], found, torch.tensor([0.5]))
    assert found.item() == 1


def test_digamma_at_the_ends():
    found = torch.digamma(torch.tensor([math.inf, -math.inf, 0.0, -1.0]))
    assert found[0] == math.inf and math.isnan(found[1]) and found[2] == -math.inf and math.isnan(found[3])


def test_ndtri():
    special = pytest.importorskip("scipy.special")
    p = np.concatenate([np.linspace(0, 1, 101), [1e-300, 1e-30, 1e-8, 1 - 1e-12]])
    assert np.allclose(torch.special.ndtri(torch.from_numpy(p)).numpy(), special.ndtri(p), rtol=1e-12, atol=1e-14)


def test_complex_logaddexp():
    c = torch.tensor([1 + 3j, 4 - 6j])
    assert np.allclose(torch.logaddexp(c, c).numpy(), [1 + math.log(2) + 3j, 4 + math.log(2) - 6j])


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


def test_make_tensor_refuses():
    for options, text in (
        ({"dtype": torch.int32, "low": 3, "high": 3}, "`low` must be less than `high`, but got 3 >= 3"),
        ({"dtype": torch.int32, "requires_grad": True}, "not supported for boolean and integral dtypes"),
        (
            {"dtype": torch.float32, "noncontiguous": True, "memory_format": torch.contiguous_format},
            "mutually exclusive",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            make_tensor((2, 2), device="cpu", **options)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.igamma(torch.tensor([1]), torch.tensor([2])), NotImplementedError, "\"igamma_cpu\" not implemented for 'Long'"),
        (lambda: torch.linalg.cross(torch.ones(3), torch.ones(3).double()), RuntimeError, "expected scalar type Float but found Double"),
        (lambda: torch.complex(torch.ones(1), torch.ones(1).long()), RuntimeError, "Expected both inputs to be Half, Float or Double"),
        (lambda: torch.tensor([2], dtype=torch.uint8) ** -1, RuntimeError, "Integers to negative integer powers are not allowed"),
        (lambda: torch.logaddexp2(torch.ones(1) * 1j, torch.ones(1)), NotImplementedError, "\"logaddexp2_cpu\" not implemented"),
    ],
)  # fmt: skip
def test_dtypes_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_polar_keeps_infinities_apart():
    found = torch.polar(torch.tensor([-math.inf]), torch.tensor([4.0]))
    assert found.real.item() == math.inf and found.imag.item() == math.inf


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_written_in_place_are_what_comes_back(kind):
    given = kind([torch.ones(2), torch.ones(3)])
    assert torch._foreach_add_(given, 1) is given and torch._foreach_zero_(given) is given
    assert torch._foreach_mul_(given, [2.0, 3.0]) is given and torch._foreach_abs_(self=given) is given
    assert torch.ops.aten._foreach_add_(given, 2) is None
    assert [t.tolist() for t in given] == [[2.0] * 2, [2.0] * 3]


def test_lists_that_do_not_fit():
    a, b = torch.ones(2, 3, 4), torch.ones(3, 4, 5)
    sizes = r"size of tensor a \(4\) must match the size of tensor b \(5\) at non-singleton dimension 2"
    for call in (torch._foreach_add, torch._foreach_maximum, torch._foreach_maximum_, torch._foreach_copy_):
        with pytest.raises(RuntimeError, match=sizes):
            call([a], [b])
    with pytest.raises(RuntimeError, match=sizes):
        torch._foreach_maximum([a.to(torch.complex64)], [b.to(torch.complex64)])
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        torch._foreach_sub([a > 0], [b > 0])
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 0 and 1"):
        torch._foreach_add([], [a])
    with pytest.raises(RuntimeError, match="must have at least one tensor"):
        torch._foreach_copy_([a], [])
