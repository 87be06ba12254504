"""``torch._vendor``: packages that PyTorch carries a copy of; here they are the installed ones."""
