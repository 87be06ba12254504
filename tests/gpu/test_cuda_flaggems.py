"""Stock FlagGems on the GPU: its kernels take the place of operators, with the values of ours."""

import pytest

import shim_torch as torch

F = torch.nn.functional
if torch.cuda.is_available():
    pytest.importorskip("flag_gems")


def both(call):
    """What ``call`` gives with FlagGems' kernels and without."""
    import flag_gems

    with flag_gems.use_gems():
        gems = call()
    return gems, call()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_celu_and_selu(dtype):
    x = torch.randn(2, 19, 7, device="cuda", dtype=getattr(torch, dtype))
    for call in (lambda: F.celu(x, 0.3), lambda: F.celu_(x.clone(), 0.3), lambda: F.selu(x)):
        gems, ours = both(call)
        torch.testing.assert_close(gems, ours)


def test_comparisons_with_a_number():
    x = torch.randn(2, 19, 7, device="cuda")
    for call in (
        lambda: torch.greater(x, 0),
        lambda: torch.greater(x, 0, out=torch.empty_like(x, dtype=torch.bool)),
        lambda: torch.greater(x, x.flip(0), out=torch.empty_like(x, dtype=torch.bool)),
    ):
        gems, ours = both(call)
        assert torch.equal(gems, ours)


def test_trace_of_bools():
    x = torch.rand(30, 15, device="cuda") > 0.5
    gems, ours = both(lambda: torch.trace(x))
    assert gems.dtype is ours.dtype is torch.int64 and gems.item() == ours.item()
