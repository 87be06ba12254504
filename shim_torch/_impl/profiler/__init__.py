"""The parts of torch.profiler."""
