"""``torch._dispatch``."""
