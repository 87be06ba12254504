"""``torch.utils.benchmark.utils``: what ``torch.utils.benchmark`` gives, by part."""
