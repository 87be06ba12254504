"""``torch.testing``: comparing tensors, making random ones."""

from shim_torch.testing._comparison import assert_allclose, assert_close
from shim_torch.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
