"""Sparse tensors: layouts, construction and operators."""
