"""The parts of torch.amp."""
