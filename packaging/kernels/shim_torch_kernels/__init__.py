"""Holds kernels.pack, which shim_torch finds and reads without importing this package (shim_torch/_impl/extensions/kernel_pack.py)."""
