"""Sparse tensors."""

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)
