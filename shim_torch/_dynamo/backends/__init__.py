"""``torch._dynamo.backends``."""
