"""``functorch.experimental``."""

from shim_torch._functorch.apis import chunk_vmap
from shim_torch._functorch.batch_norm_replacement import replace_all_batch_norm_modules_
from shim_torch._functorch.eager_transforms import hessian, jacfwd, jvp
from shim_torch.func import functionalize

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
