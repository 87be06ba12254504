"""Lazy conjugates and negatives: who has the bit, what is read and written through it, what refuses it. Values are PyTorch 2.13's."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import shim_torch as torch

Z = [[1 + 2j, 3 - 4j], [5 + 6j, 0 - 1j]]
CONJ = [[1 - 2j, 3 + 4j], [5 - 6j, 1j]]


@pytest.fixture
def x(device):
    return torch.tensor(Z)


def values(t):
    """The elements; of a meta tensor its shape, where a list would be."""
    return t.cpu().tolist() if not t.is_meta else None


def check(t, wanted, conj=False, neg=False):
    assert (t.is_conj(), t.is_neg()) == (conj, neg)
    if t.is_meta:
        assert tuple(t.shape) == np.shape(wanted)
    else:
        np.testing.assert_allclose(np.array(t.cpu().tolist()), np.array(wanted), rtol=1e-5, atol=1e-6)


def test_conj_is_a_view(x):
    c = x.conj()
    check(c, CONJ, conj=True)
    assert c._is_view() and c._base is x and c.data_ptr() == x.data_ptr() and c.stride() == x.stride()
    assert c.untyped_storage()._cdata == x.untyped_storage()._cdata
    check(c.conj(), Z)
    check(torch.ops.aten._conj(x), CONJ, conj=True)
    check(torch.conj(x), CONJ, conj=True)
    assert torch.is_conj(c) and not torch.is_neg(c)
    real = torch.ones(2)
    assert real.conj() is real and torch.conj(real) is real


def test_negative_views(x):
    n = torch.ops.aten._neg_view(torch.tensor([1.0, -2.0]))
    check(n, [-1.0, 2.0], neg=True)
    check(n._neg_view(), [1.0, -2.0])
    i = x.conj().imag
    check(i, [[-2.0, 4.0], [-6.0, 1.0]], neg=True)
    assert i.stride() == (4, 2) and torch.is_neg(i)
    check(x.conj().real, [[1.0, 3.0], [5.0, 0.0]])
    both = x._neg_view().conj()
    check(both, [[-1 + 2j, -3 - 4j], [-5 + 6j, -1j]], conj=True, neg=True)
    check(both.imag, [[2.0, -4.0], [6.0, -1.0]])
    check(torch.view_as_real(x._neg_view())[0], [[-1.0, -2.0], [-3.0, 4.0]], neg=True)
    check(torch.view_as_complex(n), -1 + 2j, neg=True)


@pytest.mark.parametrize("view", ["t()", "mT", "reshape(4)", "view(4)", "unsqueeze(0)", "expand(2, 2, 2)", "diagonal()",
                                  "detach()", "data", "contiguous()", "cpu()" , "[0]", "as_strided((2,), (1,))",
                                  "unbind()[0]", "flatten()", "to(torch.complex64)", "resolve_neg()", "requires_grad_()"])  # fmt: skip
def test_views_keep_the_bit(view, device):
    if view == "cpu()" and device != "cpu":
        pytest.skip("a copy")
    at = view if view.startswith("[") else "." + view
    found = eval("t" + at, {"torch": torch, "t": torch.tensor(Z).conj()})
    plain = eval("t" + at, {"torch": torch, "t": torch.tensor(Z).conj_physical()})
    check(found, values(plain) if device != "meta" else np.zeros(tuple(plain.shape)), conj=True)


def test_adjoints(x):
    for a in (x.mH, x.H, x.adjoint(), torch.adjoint(x)):
        check(a, np.array(CONJ).T, conj=True)
    with pytest.warns(UserWarning, match="deprecated on 0-D tensors"):
        torch.set_warn_always(True)
        check(x[0, 0].mH, 1 - 2j, conj=True)
        torch.set_warn_always(False)
    with pytest.raises(RuntimeError, match="tensor.mH is only supported on matrices or batches of matrices. Got 1-D"):
        x[0].mH


def test_copies_have_none(x):
    c = x.conj()
    for made in (c.clone(), c.resolve_conj(), c.to(torch.complex64, copy=True), c + 0, copy.deepcopy(c)):
        check(made, CONJ)
        assert not made._is_view()
    assert not c.t().contiguous().is_conj()
    check(torch.empty_like(c).zero_(), [[0, 0], [0, 0]])
    check(c.to(torch.complex128), CONJ)
    check(torch.conj_physical(c), Z)
    check(x.conj().imag.resolve_neg(), [[-2.0, 4.0], [-6.0, 1.0]])


OPERATORS = {
    "c + x": [[2, 6], [10, 0]], "c * 2": [[2 - 4j, 6 + 8j], [10 - 12j, 2j]], "c @ x": np.array(CONJ) @ np.array(Z),
    "x.mH @ x": np.array(CONJ).T @ np.array(Z), "torch.mm(c, c.t())": np.array(CONJ) @ np.array(CONJ).T,
    "torch.dot(c[0], c[1])": np.dot(CONJ[0], CONJ[1]), "torch.vdot(c[0], x[1])": np.vdot(CONJ[0], Z[1]),
    "c.sum()": 9 - 3j, "c.abs()": np.abs(Z), "torch.cat([c, x])": CONJ + Z, "-i": [[2, -4], [6, -1]],
    "i.sum(0)": [-8, 5], "torch.where(i > 0, i, i * 0)": [[0, 4], [0, 1]], "torch.addmm(c, c, x)": np.array(CONJ) + np.array(CONJ) @ np.array(Z),
    "c[[1, 0]]": CONJ[::-1], "c.double()": [[1, 3], [5, 0]], "torch.stack([i, i])[0]": [[-2, 4], [-6, 1]],
    "torch.linalg.det(c)": -37 - 1j, "i.int()": [[-2, 4], [-6, 1]],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("expression", OPERATORS)
def test_operators_read_through_the_bits(expression, x):
    c = x.conj()
    check(eval(expression, {"torch": torch, "x": x, "c": c, "i": c.imag}), OPERATORS[expression])


WRITES = {
    "c.add_(1)": [[2 + 2j, 4 - 4j], [6 + 6j, 1 - 1j]], "c.mul_(1j)": [[2 - 1j, -4 - 3j], [6 - 5j, -1]],
    "c.copy_(x)": CONJ, "x.copy_(c)": CONJ, "c.imag.fill_(3)": [[1 - 3j, 3 - 3j], [5 - 3j, -3j]], "c[0] = 1 + 1j": [[1 - 1j, 1 - 1j], Z[1]],
    "c[0, 0] = x[1, 1]": [[1j, 3 - 4j], Z[1]], "c.imag[0] = torch.tensor([5.0, 6.0])": [[1 - 5j, 3 - 6j], Z[1]],
    "c.fill_(2 + 3j)": [[2 - 3j] * 2] * 2, "c.zero_()": [[0, 0]] * 2, "c.conj_physical_()": CONJ, "torch.add(x, x, out=c)": [[2 - 4j, 6 + 8j], [10 - 12j, 2j]],
    "c.addmm_(x, x)": [[37, 10 - 3j], [4 - 5j, 38 + 1j]], "c.t_().neg_()": [[-1 - 2j, -3 + 4j], [-5 - 6j, 1j]],
    "c._neg_view().add_(1j)": [[1 + 3j, 3 - 3j], [5 + 7j, 0]],
    "c.index_put_((torch.tensor([0]),), torch.tensor(1j))": [[-1j, -1j], Z[1]], "x.data = c": CONJ,
}  # fmt: skip


@pytest.mark.parametrize("statement", WRITES)
def test_writes_go_through_the_bits(statement, x):
    version = x._version
    exec(statement, {"torch": torch, "x": x, "c": x.conj()})
    check(x.resolve_conj(), WRITES[statement])
    if "data" not in statement and "t_()" not in statement:
        assert x._version == version + 1


def test_mask_assignment_through_a_negative(device):
    if device == "meta":
        pytest.skip("which elements depends on values")
    x = torch.tensor(Z)
    i = x.conj().imag
    i[i > 0] = 9
    check(x, [[1 + 2j, 3 - 9j], [5 + 6j, -9j]])


@pytest.mark.devices("cpu")
def test_random_numbers_through_the_bits(device):
    x = torch.zeros(100, dtype=torch.complex64)
    x.conj().uniform_(1, 2)
    assert (x.real >= 1).all() and (x.imag <= -1).all()
    n = torch.zeros(100)
    n._neg_view().uniform_(1, 2)
    assert (n <= -1).all()


REFUSALS = {
    "c.numpy()": (RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."),
    "n.__array__()": (RuntimeError, "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead."),
    "c.__dlpack__()": (BufferError, "Can't export tensors with the conjugate bit set"),
    "torch.from_dlpack(c)": (BufferError, "Can't export tensors with the conjugate bit set"),
    "torch.view_as_real(c)": (RuntimeError, "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
                              "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."),
    "c.view(torch.complex64)": (RuntimeError, "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype."),
    "n.view(torch.int32)": (RuntimeError, "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype."),
}  # fmt: skip


@pytest.mark.devices("cpu")
@pytest.mark.parametrize("expression", REFUSALS)
def test_memory_is_not_given_away_unresolved(expression, device):
    kind, text = REFUSALS[expression]
    names = {"torch": torch, "c": torch.tensor(Z).conj(), "n": torch.tensor([1.0, -2.0])._neg_view()}
    with pytest.raises(kind) as raised:
        eval(expression, names)
    assert str(raised.value) == text


@pytest.mark.devices("cpu")
def test_arrays_by_force_and_numbers(device):
    c = torch.tensor(Z).conj()
    assert c.numpy(force=True).tolist() == CONJ and c.imag.numpy(force=True).tolist() == [[-2.0, 4.0], [-6.0, 1.0]]
    assert (
        c[0, 0].item() == 1 - 2j and complex(c[0, 1]) == 3 + 4j and float(c.imag[0, 0]) == -2.0 and bool(c.imag[0, 0])
    )
    assert repr(c) == "tensor([[1.-2.j, 3.+4.j],\n        [5.-6.j, 0.+1.j]])"
    n = torch.tensor([1.0, -2.0])._neg_view()
    assert torch.from_dlpack(n).tolist() == [1.0, -2.0]  # DLPack knows no negatives: as memory holds it


@pytest.mark.devices("cpu")
def test_set_changes_memory_and_not_the_bit(device):
    x, c = torch.tensor(Z), torch.tensor(CONJ).conj()
    c.set_(x)
    check(c, CONJ, conj=True)
    x.set_(c)
    check(x, Z)


@pytest.mark.devices("cpu")
def test_files_keep_the_bits(device):
    x = torch.tensor(Z)
    n, both = torch.tensor([1.0, -2.0])._neg_view(), x._neg_view().conj()
    for t in (x.conj(), n, both):
        file = io.BytesIO()
        torch.save([t], file)
        file.seek(0)
        for again in (torch.load(file)[0], pickle.loads(pickle.dumps(t)), copy.copy(t)):
            check(again, t.tolist(), t.is_conj(), t.is_neg())
    file = io.BytesIO()
    torch.save([x, x.conj()], file)
    file.seek(0)
    first, second = torch.load(file)
    assert first.data_ptr() == second.data_ptr()
    assert torch._C._get_tensor_metadata(both) == {"conj": True, "neg": True}


def leaf():
    return torch.tensor(Z, requires_grad=True)


def test_gradients_through_conjugates(device):
    g = leaf()
    assert g.conj().grad_fn.name() == "ConjBackward0" and g._neg_view().grad_fn.name() == "NegViewBackward0"
    (g.conj() * (2 + 1j)).sum().backward(torch.tensor(1 + 0j))
    check(g.grad.resolve_conj(), [[2 + 1j, 2 + 1j]] * 2)
    g = leaf()
    g.conj().imag.sum().backward()
    check(g.grad.resolve_conj(), [[-1j, -1j]] * 2)


def test_writes_through_views_with_history(device):
    g = leaf()
    y = g * 1
    y.conj().mul_(3 + 1j)
    check(y, (np.array(CONJ) * (3 + 1j)).conj())
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    y.backward(torch.ones_like(y))
    check(g.grad, [[3 + 1j, 3 + 1j]] * 2)
    g = leaf()
    y = g * 1
    y.conj().imag.mul_(2)
    y.real.mul_(3)
    torch.view_as_real(y).sum().backward()
    check(g.grad, [[3 + 2j, 3 + 2j]] * 2)


def test_views_of_a_base_that_was_written(device):
    g = leaf()
    y = g * 1
    z, i = y.conj(), y.conj().imag
    y.mul_(2)
    check(z, 2 * np.array(CONJ), conj=True)
    assert z.grad_fn.name() == "ConjBackward0" and z._version == 1
    (z.real.sum() + i.sum()).backward()
    check(g.grad, [[2 - 2j, 2 - 2j]] * 2)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        leaf().conj().mul_(2)


@pytest.mark.devices("cpu")
def test_second_gradients_and_tangents(device):
    def written(t):
        y = t * t
        y.conj().imag.mul_(2)
        return y.conj() * t

    z = torch.tensor(Z, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(written, (z,)) and torch.autograd.gradgradcheck(written, (z,))
    value, tangent = torch.func.jvp(lambda t: t.conj(), (z.detach(),), (z.detach() * 1j,))
    assert value.is_conj() and torch.equal(tangent, (z.detach() * 1j).conj())


def test_operators_of_libraries_get_values(x):
    if x.is_meta:
        pytest.skip("a kernel of the CPU and of CUDA")
    seen = []
    with torch.library._scoped_library("math_bits_test", "FRAGMENT") as library:
        library.define("twice_(Tensor(a!) x, Tensor y) -> Tensor(a!)")

        def twice(a, b):
            seen.append((a.is_conj(), b.is_neg()))
            return a.copy_(a * 2 + b)

        library.impl("twice_", twice, "CompositeExplicitAutograd")
        c = x.conj()
        assert torch.ops.math_bits_test.twice_(c, x.conj().imag) is c
    assert seen == [(False, False)]
    check(x, (2 * np.array(CONJ) + np.array(CONJ).imag).conj())
