"""Reading and writing by index and mask, and sorting."""
