"""``torch.testing._internal``: what libraries' own test suites take from PyTorch's tests."""
