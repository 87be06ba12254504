"""``functorch._src``: old homes of names."""
