"""Reading and writing by index and mask, and sorting."""

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)
