"""``torch._refs.nn``: the module of ``torch._refs.nn.functional``."""
