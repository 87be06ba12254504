"""The tensors that the C functions of operators are called with."""

from __future__ import annotations


def tensors(torch):
    """Name -> tensor: the same values for every torch."""
    made = {
        "x": torch.linspace(-2, 3, 12).reshape(3, 4),
        "y": torch.linspace(1, 2, 12).reshape(3, 4),
        "m": torch.linspace(-1, 1, 20).reshape(4, 5),
        "v": torch.tensor([0.5, -1.0, 2.0, 0.25]),
        "i": torch.tensor([[3, 1, 2], [0, 2, 2]]),
        "k": torch.tensor([2, 0, 1, 2]),
        "b": torch.linspace(-1, 1, 24).reshape(2, 3, 4),
        "c": torch.linspace(1, -1, 40).reshape(2, 4, 5),
        "picture": torch.linspace(-1, 1, 72).reshape(1, 2, 6, 6),
        "solid": torch.linspace(-1, 1, 128).reshape(1, 2, 4, 4, 4),
        "weight": torch.linspace(-0.5, 0.5, 54).reshape(3, 2, 3, 3),
        "bias": torch.tensor([0.1, -0.2, 0.3]),
        "q": torch.linspace(-1, 1, 96).reshape(1, 2, 6, 8),
        "z": torch.tensor([1 + 2j, -0.5j, 3.0], dtype=torch.complex64),
        "mask": torch.tensor([[True, False, True, False]] * 3),
        "half": torch.linspace(-2, 3, 12).reshape(3, 4).to(torch.bfloat16),
        "spd": torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
        "e": torch.zeros(0, 4),
    }
    return made
