"""``torch.nn.utils.convert_parameters``."""

from shim_torch.nn.utils import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
