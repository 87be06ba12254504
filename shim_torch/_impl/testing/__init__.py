"""The parts of torch.testing."""
