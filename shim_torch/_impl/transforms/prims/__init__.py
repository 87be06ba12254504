"""Shapes, strides and types that decompositions ask about."""
