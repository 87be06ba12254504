# ruff: noqa: B023 (what is made in a loop is called in the same round)
"""Bags of embeddings on CUDA: the CPU's values and gradients, by our own kernels."""

import pytest

import shim_torch as torch

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("on_our_kernels")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def both(run, dtype, table, indices, offsets, samples=None):
    """Values and gradients on CUDA in this dtype are those of float64 on the CPU."""
    outcomes = []
    for device, t in (("cpu", torch.float64), ("cuda", dtype)):
        leaves = [x.to(dtype).to(device, t).requires_grad_() for x in (table, samples) if x is not None]
        out = run(leaves[0], indices.to(device), None if offsets is None else offsets.to(device), *leaves[1:])
        assert out.dtype == t
        outcomes.append([out.detach(), *torch.autograd.grad(out, leaves, torch.full_like(out, 0.5))])
    for want, got in zip(*outcomes, strict=True):
        assert got.is_cuda
        torch.testing.assert_close(got.cpu().double(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("width", [1, 12, 37])
def test_embedding_bag(dtype, mode, width):
    table = torch.randn(20, width)
    for index in (torch.int64, torch.int32):
        rows = torch.randint(0, 20, (6, 5), dtype=index)
        both(lambda w, i, o: F.embedding_bag(i, w, mode=mode), dtype, table, rows, None)
        flat, offsets = rows.reshape(-1), torch.tensor([0, 4, 4, 11, 29], dtype=index)
        both(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), dtype, table, flat, offsets)
        both(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, padding_idx=int(flat[5])), dtype, table, flat, offsets)
        both(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, include_last_offset=True), dtype, table, flat, offsets)
        if mode == "sum":
            samples = torch.rand(6, 5)
            both(
                lambda w, i, o, s: F.embedding_bag(i, w, mode=mode, per_sample_weights=s),
                dtype,
                table,
                rows,
                None,
                samples,
            )
            given = {"mode": mode, "padding_idx": int(flat[5])}
            both(
                lambda w, i, o, s: F.embedding_bag(i, w, o, per_sample_weights=s, **given),
                dtype,
                table,
                flat,
                offsets,
                samples.reshape(-1),
            )


def test_what_else_embedding_bag_gives():
    table, flat = torch.randn(9, 4), torch.randint(0, 9, (12,))
    for mode in (0, 1, 2):
        for padding in (-1, int(flat[0])):
            for last in (False, True):
                # An end short of the indices is heeded by PyTorch's sums on a CPU alone.
                offsets = torch.tensor([0, 3, 3, 12 if last else 10])
                arguments = (False, mode, False, None, last, None if padding < 0 else padding)
                want = torch.embedding_bag(table, flat, offsets, *arguments)
                got = torch.embedding_bag(table.cuda(), flat.cuda(), offsets.cuda(), *arguments)
                for a, b in zip(got, want, strict=True):
                    assert a.shape == b.shape and a.dtype == b.dtype
                    torch.testing.assert_close(a.cpu(), b)


@pytest.mark.parametrize("weighted", [True, False])
def test_bags_have_no_second_gradient(weighted):
    rows = torch.randint(0, 7, (4, 2))
    for device in ("cpu", "cuda"):
        w = torch.randn(7, 3, dtype=torch.float64, device=device, requires_grad=True)
        s = torch.rand(4, 2, dtype=torch.float64, device=device, requires_grad=True) if weighted else None
        out = F.embedding_bag(rows.to(device), w, mode="sum", per_sample_weights=s).square().sum()
        with pytest.raises(
            RuntimeError, match="derivative for .*_embedding_bag_.*backward.* is not implemented"
        ):  # PyTorch's too
            slopes = torch.autograd.grad(out, (w, s) if weighted else (w,), create_graph=True)
            torch.autograd.grad(sum(g.square().sum() for g in slopes), w)
