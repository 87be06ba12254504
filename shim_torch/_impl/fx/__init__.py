"""The parts of torch.fx."""
