"""``torch._functorch.eager_transforms``."""

from shim_torch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]
