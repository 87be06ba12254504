"""PyTorch's names: those that are absent, those that only answer, and where each says that it comes from."""
