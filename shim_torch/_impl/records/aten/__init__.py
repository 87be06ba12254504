"""Operators that only torch.ops.aten has."""
