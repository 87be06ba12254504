"""The parts of torch.nn and torch.nn.functional."""
