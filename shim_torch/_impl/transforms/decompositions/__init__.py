"""Operators written with smaller ones."""
