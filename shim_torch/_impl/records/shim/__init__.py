"""Operators of our own (torch.ops.shim), one kernel each."""
