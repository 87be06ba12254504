"""``torch._functorch``: where PyTorch keeps ``torch.func``; ``package`` is the top-level ``functorch``."""
