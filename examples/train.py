"""Trains a small network with shim-torch alone and prints how the loss falls."""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__"})

import torch
import torch.nn.functional as F


def main() -> None:
    """Fits a two-layer network to random labels."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, labels = torch.randn(64, 8), torch.randint(0, 4, (64,))
    first = last = 0.0
    for step in range(100):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        last = loss.item()
        first = first or last
        if step % 20 == 0:
            print(f"step {step:3d}  loss {last:.4f}")
    print(f"loss {first:.4f} -> {last:.4f}  ({torch.__name__} {torch.__version__})")
    assert last < 0.5 * first


if __name__ == "__main__":
    main()
