"""The parts of torch.nn.Module and of its layers."""
