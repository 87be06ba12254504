"""complex32, which NumPy has not: the results of operators whose operands leave gaps or repeat themselves."""

import pytest

import shim_torch as torch

X = torch.tensor([[1 + 2j, 3 - 4j], [0.5j, -1 + 0j]]).to(torch.complex32)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[:1].expand(3, 2),
        lambda x: x.t(),
        lambda x: x[:, ::2],
        lambda x: x[:0],
    ],
)
@pytest.mark.parametrize(
    "call", [torch.neg, torch.exp, torch.abs, lambda x: x.roll(1), lambda x: x.sum(0), lambda x: x.cumsum(1)]
)
def test_views(call, view):
    found, wanted = call(view(X)), call(view(X.to(torch.complex64)))
    assert (
        found.dtype == (torch.float16 if wanted.dtype == torch.float32 else torch.complex32)
        and found.shape == wanted.shape
    )
    torch.testing.assert_close(found.to(wanted.dtype), wanted, rtol=2e-3, atol=1e-3)


@pytest.mark.devices("cpu", "cuda")
def test_half_complex_on_the_device(device):
    x = torch.tensor([1 + 2j, 3 - 1j, -0.5j], device=device).to(torch.complex32)
    assert (x + x).tolist() == [2 + 4j, 6 - 2j, -1j]
    assert torch.cat([x, x]).shape == (6,) and x.real.tolist() == [1, 3, 0] and torch.isclose(x, x).all()
    assert torch.full((2,), 3 + 1j, dtype=torch.complex32, device=device).tolist() == [3 + 1j] * 2
    parts = torch.ones(2, dtype=torch.float16, device=device)
    assert torch.complex(parts, parts).dtype == torch.complex32


def test_complex32_is_moved():
    x = torch.tensor([1 + 2j, 3.0], dtype=torch.complex32)
    assert x.roll(1).tolist() == [3, 1 + 2j]
