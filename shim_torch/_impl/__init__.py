"""What is ours: the operators' records, their table, arrays, and the parts behind PyTorch's modules. Not visible as torch's."""
