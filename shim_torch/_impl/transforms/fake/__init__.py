"""Fake tensors, which have metadata and no values."""
