"""``torch.compile``: calls of a function whose operators are recorded, deferred and run together (docs/compile.md)."""
