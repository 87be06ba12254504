"""Reductions, running reductions and statistics."""
