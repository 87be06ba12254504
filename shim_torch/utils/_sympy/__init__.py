"""``torch.utils._sympy``: the functions of symbolic sizes; sizes are plain numbers here."""
