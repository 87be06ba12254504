"""``torch._functorch``: where PyTorch keeps ``torch.func``; ``package`` is the top-level ``functorch``."""

from __future__ import annotations
