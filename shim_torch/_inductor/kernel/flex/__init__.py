"""``torch._inductor.kernel.flex``."""
