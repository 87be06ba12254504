"""PyTorch's module tree: absent names, modules without code of their own, and ``__module__`` of public names."""
