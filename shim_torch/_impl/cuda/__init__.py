"""The parts of torch.cuda."""
