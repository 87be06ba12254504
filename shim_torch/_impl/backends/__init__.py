"""The settings of torch.backends."""
