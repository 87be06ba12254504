"""``torch._inductor.codegen``."""
