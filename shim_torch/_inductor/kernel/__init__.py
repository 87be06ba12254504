"""``torch._inductor.kernel``."""
