"""Training steps in which gradients add up: of a tensor that several operators read."""

import pytest

import shim_torch as torch
from shim_torch._impl.compile import calls

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    """Attention whose three products read one tensor, between residual paths."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (p(h).view(*h.shape[:2], 2, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        return x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))


def training(blocks=2, width=16):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, width), *[Block(width) for _ in range(blocks)], nn.Linear(width, 20))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    ids = torch.randint(0, 20, (2, 6))

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.devices("cpu", "cuda")
def test_each_call_goes_the_same_way():
    eager, compiled = training(), torch.compile(training())
    for call in range(14):
        if call == 2:  # the first one made the optimizer's state
            before = dict(calls.counts)
        torch.testing.assert_close(compiled(), eager())
    after = {name: calls.counts[name] - before[name] for name in ("programs", "learned", "deferred")}
    assert (after["programs"], after["learned"]) == (12, 0) and after["deferred"] > 12 * 60
