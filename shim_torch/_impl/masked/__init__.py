"""The parts of torch.masked."""
