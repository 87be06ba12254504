"""Chunks side by side, gathers under a mask, hashes of tensors."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, y = pattern(torch, 3, 4, seed=1), pattern(torch, 5, 2, seed=2)
    i, out = torch.tensor([2, 0, -1, 1]), torch.tensor([2, 99, -50, 1])
    keep = torch.tensor([True, False, False, True])
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "y": y,
        "i": i,
        "out": out,
        "keep": keep,
        "leaf": pattern(torch, 3, 4, seed=3).requires_grad_(),
        "whole": torch.arange(-3, 9).reshape(3, 4),
        "ones": torch.ones(4, 4),
        "bits": torch.tensor([True, False, True]),
    }


CASES = """
torch._chunk_cat([x, y], 0, 2)
torch._chunk_cat([x, y], 0, 4)
torch._chunk_cat([x, x[:, :3]], 1, 2)
torch._chunk_cat([x], -1, 3)
torch._chunk_cat([x, y[:, 0]], 0, 2)
torch._chunk_cat([x.half(), y.half()], 0, 3)
torch._chunk_cat([x, y], 0, 2, out=torch.empty(0))
torch._chunk_cat([x, y], 1, 2)
torch._chunk_cat([x, y[:, 0]], -1, 2)
torch._chunk_cat([x, y], 0, 0)
torch._chunk_cat([], 0, 2)
torch._chunk_cat([x, x[:0]], 0, 2)
torch._chunk_cat([x, y[:, 0]], 1, 2)
aten._unsafe_masked_index(leaf, keep, [None, out], 7.0)
torch._unsafe_masked_index(x, keep, [out.clamp(-3, 2), i], -1.0)
torch._unsafe_masked_index_put_accumulate(x, keep, [out.clamp(-3, 2), i], torch.ones(4))
torch._unsafe_masked_index_put_accumulate(x[:0], keep, [out], ones)
torch.hash_tensor(x)
torch.hash_tensor(x, 1)
torch.hash_tensor(x, (0, 1), keepdim=True)
torch.hash_tensor(x.half(), 0)
torch.hash_tensor(x.double(), 0)
torch.hash_tensor(whole)
torch.hash_tensor(whole, 0, keepdim=True)
torch.hash_tensor(bits)
torch.hash_tensor(whole.to(torch.uint8), 1)
torch.hash_tensor(torch.tensor(3.5))
torch.hash_tensor(x, mode=3)
torch.hash_tensor(x[:0])
torch.hash_tensor(x[:0], 0)
torch.hash_tensor(x[:0], 1)
torch.hash_tensor(x * 1j)
""".strip().splitlines()
