"""Nested tensors: layouts and operators."""
