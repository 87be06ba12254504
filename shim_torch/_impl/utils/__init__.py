"""The parts of torch.utils."""
