"""A small network of fused linear layers, trained, and one of its gradients computed by hand from what a layer keeps."""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__"})

import torch
import torch.nn.functional as F

from shim_torch_linear import (
    activation_backward,
    fused_linear,
    fused_linear_with_reserve,
    legacy_linear,
    linear_backward_bias,
    linear_backward_input,
    linear_backward_weight,
    linear_grad_sharding,
    linear_sharding,
)
from shim_torch_linear.paddle import fused_gemm_epilogue


class Network(torch.nn.Module):
    """Two layers with a GELU between; the first is one operator with its activation."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = torch.nn.Linear(8, 32), torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two layers, the first fused with its activation: (batch, inputs) to (batch, outputs)."""
        return self.out(fused_linear(x, self.hidden.weight, self.hidden.bias, "gelu", approximate="tanh"))


def train() -> None:
    """Fits the network to random labels."""
    torch.manual_seed(0)
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, labels = torch.randn(64, 8), torch.randint(0, 4, (64,))
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"trained: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    assert losses[-1] < 0.5 * losses[0]


def gradients_by_hand() -> None:
    """The three gradients of a layer, each by a function of its own, against autograd."""
    x, w, b = (torch.randn(*shape, requires_grad=True) for shape in ((16, 8), (32, 8), (32,)))
    y, reserve = fused_linear_with_reserve(x, w, b, "relu")
    g = torch.randn(16, 32)
    want = torch.autograd.grad(y, (x, w, b), g)
    dz = activation_backward(g, reserve.detach(), "relu")
    found = linear_backward_input(dz, w.detach()), linear_backward_weight(dz, x.detach()), linear_backward_bias(dz)
    for name, a, e in zip(("input", "weight", "bias"), found, want):
        torch.testing.assert_close(a, e)
        print(f"gradient of {name}: {tuple(a.shape)}, as autograd's")


def other_names_and_switches() -> None:
    """Paddle's name with its (K, N) weight, the unfused way, and where the parts lie on a mesh of devices."""
    x, w, b = torch.randn(16, 8), torch.randn(8, 32), torch.randn(32)
    fused, _ = fused_gemm_epilogue(x, w, b, activation="relu")
    with legacy_linear():
        unfused, _ = fused_gemm_epilogue(x, w, b, activation="relu")
    assert torch.equal(unfused, (x @ w + b).relu())
    print(f"fused against unfused: at most {(fused - unfused).abs().max().item():.1e} apart")
    row_parallel = linear_sharding(input=(-1, 0), weight=(-1, 0), bias=(-1,), mesh_dims=1)
    print(
        f"K split over mesh dimension 0: sums over {set(row_parallel.partial)}, bias after: {row_parallel.bias_after_reduce}"
    )
    print(f"  its weight's gradient: {linear_grad_sharding(row_parallel)['weight'][0]}")


if __name__ == "__main__":
    train()
    gradients_by_hand()
    other_names_and_switches()
