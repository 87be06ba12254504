"""``torch._export``: what classes of tensors say about tracing. Nothing is exported here."""
