"""``torch._custom_op``: the first form of custom operators; ``torch.library.custom_op`` is what took its place."""

from shim_torch._custom_op import impl as impl
