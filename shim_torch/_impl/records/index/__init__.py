"""Reading and writing by index and mask, and sorting."""

VALUES = "ranges"  # a call may fail for an index that is out of range (compile/deferral.py)
