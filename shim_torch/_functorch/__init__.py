"""``torch._functorch``: where PyTorch keeps ``torch.func``."""
