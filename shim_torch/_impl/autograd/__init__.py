"""The parts of torch.autograd."""
