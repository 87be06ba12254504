"""The parts of torch.distributions."""
