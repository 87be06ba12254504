"""``torch.nn.utils.convert_parameters``."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.nn.utils import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]

__getattr__ = _asked_of(__name__)
