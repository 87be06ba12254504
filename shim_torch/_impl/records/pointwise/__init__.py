"""Operators of one element at a time."""
