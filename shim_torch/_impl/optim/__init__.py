"""The parts of torch.optim."""
