"""The parts of torch.hub."""
