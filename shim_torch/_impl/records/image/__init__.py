"""Sampling and resizing of images."""
