"""Recurrent layers."""

DRAWS = True  # random numbers (compile/deferral.py)
