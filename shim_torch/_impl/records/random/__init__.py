"""Random numbers."""

DRAWS = True  # random numbers (compile/deferral.py)
