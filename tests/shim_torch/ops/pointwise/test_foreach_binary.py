"""Sums, products, powers and bounds over lists: each of the tensors' own results, in place too."""

from __future__ import annotations

import pytest

import shim_torch as torch


def lists():
    return [torch.tensor([1.0, -2.0]), torch.tensor([[3.0]])], [torch.tensor([2.0, 4.0]), torch.tensor([[5.0]])]


@pytest.mark.parametrize("name", "add sub mul div pow clamp_min clamp_max maximum minimum".split())
def test_lists_numbers_and_lists_of_numbers(name):
    run, in_place = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
    one = {
        "clamp_min": torch.clamp_min,
        "clamp_max": torch.clamp_max,
        "maximum": torch.clamp_min,
        "minimum": torch.clamp_max,
    }
    a, b = lists()
    for other in (b, 2.0, [2.0, 3.0]):
        shares = other if isinstance(other, list) else [other] * 2
        expected = [one.get(name, getattr(torch, name))(x, y) for x, y in zip(a, shares, strict=True)]
        torch.testing.assert_close(list(run(a, other)), expected)
        written = [x.clone() for x in a]
        in_place(written, other)
        torch.testing.assert_close(written, expected)


def test_scaled_sums_and_powers_of_a_number():
    a, b = lists()
    torch.testing.assert_close(list(torch._foreach_add(a, b, alpha=3)), [x + 3 * y for x, y in zip(a, b, strict=True)])
    torch.testing.assert_close(list(torch._foreach_sub(a, b, alpha=3)), [x - 3 * y for x, y in zip(a, b, strict=True)])
    torch.testing.assert_close(list(torch._foreach_pow(2.0, b)), [2.0**y for y in b])
    torch.testing.assert_close(list(torch._foreach_mul(a, torch.tensor(2.0))), [2 * x for x in a])


def test_what_is_refused():
    a, _ = lists()
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 2 and 1"):
        torch._foreach_add(a, a[:1])
    with pytest.raises(RuntimeError, match="Tensor list must have same number of elements as scalar list"):
        torch._foreach_mul(a, [1.0])
    with pytest.raises(RuntimeError, match="scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements"):
        torch._foreach_mul(a, torch.ones(2))
