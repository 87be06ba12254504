"""Compiled libraries and extensions: reading, building and loading them."""
