"""The parts of torch.multiprocessing."""
