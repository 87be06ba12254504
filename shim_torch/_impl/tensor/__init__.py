"""What the tensor's type has in Python: making, printing, copying, indexing, storage, generators."""
