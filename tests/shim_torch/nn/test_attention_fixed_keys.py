"""multi_head_attention_forward: keys and values given apart, their biases and the sizes that are refused."""

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

E, H, L, N, S = 4, 2, 3, 2, 5
BIAS = torch.ones(1, 1, E)
FIXED = torch.ones(N * H, S, E // H)


def _run(bias_k=None, bias_v=None, mask=None, **fixed):
    q, k = torch.ones(L, N, E), torch.ones(S, N, E)
    projections = torch.eye(E).repeat(3, 1), torch.zeros(3 * E)
    out = torch.eye(E), torch.zeros(E)
    return F.multi_head_attention_forward(
        q, k, k, E, H, *projections, bias_k, bias_v, False, 0.0, *out, key_padding_mask=mask, **fixed
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (dict(bias_k=BIAS, bias_v=BIAS, static_k=FIXED), "bias cannot be added to static key."),
        (dict(bias_k=BIAS, bias_v=BIAS, static_v=FIXED), "bias cannot be added to static value."),
        (dict(bias_k=BIAS), "bias_k is set but bias_v is None"),
        (dict(bias_v=BIAS), "bias_v is set but bias_k is None"),
        (dict(static_k=FIXED[:3]), r"expecting static_k.size\(0\) of 4, but got 3"),
        (dict(static_v=torch.ones(N * H, S, 3)), r"expecting static_v.size\(2\) of 2, but got 3"),
        (dict(mask=torch.zeros(N, S - 1, dtype=torch.bool)), r"Expected key_padded_mask.shape\[1\] to be 5, but got 4"),
        (dict(mask=torch.zeros(N + 1, S, dtype=torch.bool)), r"Expected key_padded_mask.shape\[0\] to be 2, but got 3"),
    ],
)
def test_refused(given, text):
    with pytest.raises(AssertionError, match=text):
        _run(**given)


def test_values_given_apart_are_used():
    out, weights = _run(static_k=FIXED, static_v=FIXED * 2)
    assert torch.allclose(out, torch.full((L, N, E), 2.0)) and weights.shape == (N, L, S)
