"""The parts of torch.serialization: the pickler, the archive, and where storages go."""
