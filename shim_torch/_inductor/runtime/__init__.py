"""``torch._inductor.runtime``."""
