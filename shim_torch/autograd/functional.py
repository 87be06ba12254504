"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
Tensor = _core.Tensor


def _tuple(x: Any, what: str, fn_name: str) -> tuple[bool, tuple[Any, ...]]:
    is_tuple = isinstance(x, tuple)
    values = x if is_tuple else (x,)
    for i, t in enumerate(values):
        if not isinstance(t, Tensor):
            if is_tuple:
                raise TypeError(
                    f"The {what} given to {fn_name} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                    f"has type {type(t)}."
                )
            raise TypeError(
                f"The {what} given to {fn_name} must be either a Tensor or a tuple of Tensors but the given {what} has type "
                f"{type(t)}."
            )
    return is_tuple, values


def _prepared(values: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    prepared = []
    for t in values:
        if create_graph and t.requires_grad:
            prepared.append(t.view_as(t))
        else:
            prepared.append(t.detach().requires_grad_())
    return tuple(prepared)


def _vectors(v: Any, like: tuple[Any, ...], is_tuple: bool, source: str, fn_name: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(f"The vector v can only be None if the {source} a single Tensor with a single element.")
        return tuple(t.new_ones(t.shape) for t in like)
    _, v = _tuple(v, "v", fn_name)
    if len(like) != len(v):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            at = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(f"{at}v has invalid size: should be {b.shape} but got {a.shape}.")
    return tuple(v)


def _grad(outputs: Any, inputs: Any, v: Any, create_graph: bool) -> tuple[Any, ...]:
    """autograd.grad, with None where nothing flows."""
    from shim_torch.autograd import grad

    pairs = [(o, g) for o, g in zip(outputs, v, strict=True) if g is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        tuple(o for o, _ in pairs),
        inputs,
        tuple(g for _, g in pairs),
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=True,
    )


def _fill(
    grads: tuple[Any, ...], like: tuple[Any, ...], strict: bool, create_graph: bool, stage: str
) -> tuple[Any, ...]:
    made = []
    for i, (g, t) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_STRICT[stage].format(i))
            g = t.new_zeros(t.shape)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(_INDEPENDENT[stage].format(i))
        made.append(g)
    return tuple(made)


_STRICT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}
_INDEPENDENT = {
    "back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True.",
    "back_trick": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode "
    "when create_graph=True.",
    "double_back": "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode "
    "when create_graph=True.",
    "double_back_trick": "The hessian of the user-provided function is independent of input {}. This is not allowed in strict "
    "mode when create_graph=True.",
}


def _needs_gradients(jacobian: tuple[Any, ...], strict: bool) -> None:
    for i, t in enumerate(jacobian):
        if strict and not t.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{i} is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
                "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
                "for example)."
            )


def _finish(values: tuple[Any, ...], create_graph: bool, is_tuple: bool) -> Any:
    if not create_graph:
        values = tuple(_detached(t) for t in values)
    return values if is_tuple else values[0]


def _detached(x: Any) -> Any:
    return tuple(map(_detached, x)) if isinstance(x, tuple) else x.detach()


def _call(
    func: Callable[..., Any], inputs: tuple[Any, ...], fn_name: str, strict: bool
) -> tuple[bool, tuple[Any, ...]]:
    is_tuple, outputs = _tuple(func(*inputs), "outputs of the user-provided function", fn_name)
    if strict:
        for i, o in enumerate(outputs):
            if not o.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                    "differentiable manner from the input when running in strict mode."
                )
    return is_tuple, outputs


_TOGETHER = (
    "torch.autograd.functional.jacobian: `strict=True` and {} are not supported together{}. Please either set "
    "`strict=False` or {}."
)


def _construct_standard_basis_for(tensors: tuple[Any, ...], tensor_numels: tuple[int, ...]) -> tuple[Any, ...]:
    """The unit vectors of all elements, a matrix for each tensor: of as many rows as there are elements in all."""
    import shim_torch

    assert len(tensors) == len(tensor_numels) and len(tensors) > 0
    total, start, basis = sum(tensor_numels), 0, []
    for t, n in zip(tensors, tensor_numels, strict=True):
        block = t.new_zeros(total, n)
        block[start : start + n] = shim_torch.eye(n, dtype=t.dtype, device=t.device)
        basis.append(block)
        start += n
    return tuple(basis)


class _Product:
    """The inputs of one call of a product, in a graph of their own, and the steps that the products are made of."""

    def __init__(self, name: str, inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.is_tuple, given = _tuple(inputs, "inputs", name)
        self.inputs = _prepared(given, create_graph)

    def along_inputs(self, v: Any) -> tuple[Any, ...]:
        return _vectors(v, self.inputs, self.is_tuple, "input to the user-provided function is", self.name)

    def outputs(self, func: Callable[..., Any]) -> tuple[bool, tuple[Any, ...]]:
        return _call(func, self.inputs, self.name, self.strict)

    def gradient(self, func: Callable[..., Any], zeros: bool = False) -> tuple[Any, tuple[Any, ...]]:
        """The value of a function of one element, and its gradient; ``zeros``: also in strict mode, where none flows."""
        is_tuple, outputs = self.outputs(func)
        _scalar(outputs, is_tuple, self.name)
        found = _grad(outputs, self.inputs, (outputs[0].new_ones(outputs[0].shape),), True)
        first = _fill(found, self.inputs, self.strict and not zeros, False, "back")
        _needs_gradients(first, self.strict)
        return outputs, first

    def pulled(self, outputs: Any, v: Any, stage: str) -> tuple[Any, ...]:
        """``v``, like the outputs, times their Jacobian in the inputs."""
        return self._filled(outputs, self.inputs, v, self.create_graph, stage)

    def pushed(self, outputs: Any, v: Any, stage: str) -> tuple[Any, ...]:
        """The Jacobian of the outputs times ``v``, like the inputs.

        u times the Jacobian is linear in u: its own product with ``v`` is what is asked for, and any u will do.
        """
        zeros = tuple(o.new_zeros(o.shape).requires_grad_() for o in outputs)
        # Only second derivatives must depend on the inputs already here, to be told from those of linear functions.
        back = self._filled(outputs, self.inputs, zeros, True, stage, self.create_graph or stage == "double_back")
        return self._filled(back, zeros, v, self.create_graph, f"{stage}_trick")

    def _filled(
        self, outputs: Any, inputs: Any, v: Any, graph: bool, stage: str, checked: bool | None = None
    ) -> tuple[Any, ...]:
        found = _grad(outputs, inputs, v, graph)
        return _fill(found, inputs, self.strict, graph if checked is None else checked, stage)

    def finish(self, *results: tuple[tuple[Any, ...], bool]) -> Any:
        """What the caller gets of values, each with whether it gets a tuple of them."""
        return tuple(_finish(values, self.create_graph, is_tuple) for values, is_tuple in results)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of ``v`` (like the outputs) with its Jacobian."""
    with _enable_grad():
        product = _Product("vjp", inputs, create_graph, strict)
        is_tuple, outputs = product.outputs(func)
        v = _vectors(v, outputs, is_tuple, "user-provided function returns", "vjp")
        found = product.pulled(outputs, v, "back")
    return product.finish((outputs, is_tuple), (found, product.is_tuple))


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of its Jacobian with ``v`` (like the inputs), by the double backward trick."""
    with _enable_grad():
        product = _Product("jvp", inputs, create_graph, strict)
        direction = product.along_inputs(v)
        is_tuple, outputs = product.outputs(func)
        found = product.pushed(outputs, direction, "back")
    return product.finish((outputs, is_tuple), (found, is_tuple))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: of shape output.shape + input.shape, one an output and an input."""
    import shim_torch

    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
            'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            f'"reverse-mode". Got: {strategy}'
        )
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strategy == "forward-mode":
        if strict:
            raise RuntimeError(_TOGETHER.format('`strategy="forward-mode"`', " (yet)", '`strategy="reverse-mode"`'))
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
            )
    if strict and vectorize:
        raise RuntimeError(_TOGETHER.format("`vectorized=True`", "", "`vectorize=False`"))
    with _enable_grad():
        tuple_in, inputs = _tuple(inputs, "inputs", "jacobian")
        inputs = _prepared(inputs, create_graph)
        tuple_out, outputs = _call(func, inputs, "jacobian", strict)
        result = []
        for i, out in enumerate(outputs):
            rows: tuple[list[Any], ...] = tuple([] for _ in inputs)
            flat = out.reshape(-1)
            for j in range(out.nelement()):
                grads = _grad((flat[j],), inputs, (out.new_ones(()),), create_graph)
                for k, (g, t) in enumerate(zip(grads, inputs, strict=True)):
                    if g is not None:
                        if strict and create_graph and not g.requires_grad:
                            raise RuntimeError(
                                f"The jacobian of the user-provided function is independent of input {k}. This is not allowed "
                                "in strict mode when create_graph=True."
                            )
                        rows[k].append(g)
                        continue
                    if strict:
                        raise RuntimeError(
                            f"Output {i} of the user-provided function is independent of input {k}. This is not allowed in "
                            "strict mode."
                        )
                    rows[k].append(t.new_zeros(t.shape))
            result.append(
                tuple(
                    shim_torch.stack(r, 0).view(tuple(out.shape) + tuple(t.shape))
                    if r
                    else t.new_zeros(tuple(out.shape) + tuple(t.shape))
                    for r, t in zip(rows, inputs, strict=True)
                )
            )
    blocks = [_finish(r, create_graph, tuple_in) for r in result]
    return tuple(blocks) if tuple_out else blocks[0]


def _scalar(outputs: tuple[Any, ...], is_tuple: bool, name: str) -> None:
    if is_tuple or not isinstance(outputs[0], Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a scalar function: a block of shape input_i.shape + input_j.shape for every pair."""
    is_tuple, _ = _tuple(inputs, "inputs", "hessian")

    def gradient(*xs: Any) -> Any:
        _, first = _Product("hessian", xs, True, strict).gradient(func, zeros=True)
        return first if is_tuple else first[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)``, a scalar, and the product of ``v`` (like the inputs) with its Hessian."""
    return _hessian_product("vhp", _Product.pulled, func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)``, a scalar, and the product of its Hessian with ``v`` (like the inputs)."""
    return _hessian_product("hvp", _Product.pushed, func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, times: Callable[..., Any], func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """The value and ``times`` of the gradient, a function whose Jacobian is the Hessian."""
    with _enable_grad():
        product = _Product(name, inputs, create_graph, strict)
        direction = product.along_inputs(v)
        value, first = product.gradient(func)
        found = times(product, first, direction, "double_back")
    return product.finish((value, False), (found, product.is_tuple))
