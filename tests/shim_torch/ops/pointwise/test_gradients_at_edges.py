"""Gradients where operands are equal, NaN, infinite or at a bound, and refusals of dtypes: as PyTorch 2.13 gave them."""

import pytest

import shim_torch as torch

F = torch.nn.functional
nan, inf = float("nan"), float("inf")


def gradients(function, *values):
    tensors = [torch.tensor(v, requires_grad=True) for v in values]
    function(*tensors).backward(torch.ones(len(values[0])))
    return [t.grad for t in tensors]


@pytest.mark.parametrize(
    ("name", "mine", "theirs"),
    [
        ("maximum", [0.5, 0, 1, 1, 1, 0.5], [0.5, 1, 1, 1, 1, 0.5]),
        ("minimum", [0.5, 1, 1, 1, 1, 0.5], [0.5, 0, 1, 1, 1, 0.5]),
        ("fmax", [1, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 0]),
        ("fmin", [1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]),
    ],
)
def test_extremes(name, mine, theirs):
    a, b = gradients(getattr(torch, name), [1.0, 1, nan, 2, nan, inf], [1.0, 2, 1, nan, nan, inf])
    assert (a.tolist(), b.tolist()) == (mine, theirs)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hardtanh", [0, 0, 1, 1, 0, 0, 1, 0, 0]),
        ("hardswish", [0, 0, 0.5, 2 / 3, 5 / 6, 1, 1, 1, 0]),
        ("softshrink", [1, 1, 0, 0, 1, 1, 1, 1, 1]),
        ("hardshrink", [1, 1, 0, 0, 1, 1, 1, 1, 1]),
        ("elu", [0.018315639346837997, 0.049787066876888275, 1, 1, 1, 1, 1, 1, 0]),
    ],
)
def test_activations(name, wanted):
    (found,) = gradients(getattr(F, name), [-4.0, -3, 0, 0.5, 1, 3, nan, inf, -inf])
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float32))


def test_angles_have_no_gradient_at_the_origin():
    y, x = gradients(torch.atan2, [0.0, 1, -1], [0.0, 0, 2])
    torch.testing.assert_close(y, torch.tensor([0.0, 0, 0.4]))
    torch.testing.assert_close(x, torch.tensor([0.0, -1, 0.2]))


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_losses_far_away(name):
    loss = lambda a, b: getattr(F, name)(a, b, reduction="none")
    a, b = gradients(loss, [0.5, 3.0, inf, nan], [0.0, 0, 0, 0])
    torch.testing.assert_close(a, torch.tensor([0.5, 1, 1, nan]), equal_nan=True)
    torch.testing.assert_close(b, -a, equal_nan=True)


X = torch.ones(3, 2)
MIXED = r"mixed dtype \(CPU\): expect parameter to have scalar type of Float"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: torch.ones(3).index_select(0, torch.tensor([5])), IndexError, "index out of range in self"),
        (
            lambda: X.index_add(0, torch.zeros(1, 2, dtype=torch.long), X),
            IndexError,
            r"Index is supposed to be a vector, but got dim: 2 with type: Long and size: \[1, 2\]",
        ),
        (lambda: X.index_add(0, torch.tensor([0.0]), X[:1]), RuntimeError, "Expected dtype int32/int64 .* got: Float"),
        (lambda: X.index_copy(0, torch.tensor([0], dtype=torch.int32), X[:1]), RuntimeError, "long tensor .* got Int"),
        (lambda: ~X, TypeError, "is only implemented on integer and Boolean-type tensors"),
        (lambda: F.layer_norm(X, (2,), torch.ones(2).double()), RuntimeError, MIXED),
        (lambda: F.batch_norm(X, torch.zeros(2).double(), torch.ones(2).double()), RuntimeError, MIXED),
        (lambda: F.group_norm(X, 1, torch.ones(2).double()), RuntimeError, MIXED),
        (lambda: torch.lerp(X, X.double(), 0.5), RuntimeError, "expected dtype float for `end` but got dtype double"),
        (lambda: torch.complex(X, X.double()), RuntimeError, "scalar type Float but got scalar type Double"),
        (lambda: X.add(X, out=None), TypeError, "unexpected keyword argument 'out'"),
        (lambda: torch.dropout(X, 0.5, True, out=None), TypeError, "unexpected keyword argument 'out'"),
    ],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_products_give_no_views():
    vector = torch.ones(3)
    for made in (torch.ones(2, 3) @ vector, torch.kron(X, X), torch.nanmedian(X, 0)[0]):
        assert not made._is_view()
