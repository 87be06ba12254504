"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd.functional_arguments import (
    call,
    check_strategy,
    filled,
    finish,
    needs_gradients,
    one_element,
    prepared,
    tuple_of,
    vectors,
)
from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
Tensor = _core.Tensor


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


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """``inp`` as a tuple; with names for errors: (whether it was one, its tensors), and TypeError for anything else."""
    if arg_name is None and fn_name is None:
        return inp if isinstance(inp, tuple) else tuple(inp) if isinstance(inp, list) else (inp,)
    return tuple_of(inp, str(arg_name), str(fn_name))


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors, or tuples of them, as results: without their history unless ``create_graph``."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple(_grad_postprocess(each, create_graph) for each in inputs)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """A result in the form of what it is of: the tuple where that was one (at both levels, of a pair), else its first."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        rows = tuple(row if inner else row[0] for row in res)
        return rows if outer else rows[0]
    return res if to_unpack else res[0]


class _Product:
    """The inputs of one call of a product, in a graph of their own, and the steps that the products are made of."""

    def __init__(self, name: str, inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.is_tuple, given = tuple_of(inputs, "inputs", name)
        self.inputs = prepared(given, create_graph)

    def along_inputs(self, v: Any) -> tuple[Any, ...]:
        return vectors(v, self.inputs, self.is_tuple, "input to the user-provided function is", self.name)

    def outputs(self, func: Callable[..., Any]) -> tuple[bool, tuple[Any, ...]]:
        return call(func, self.inputs, self.name, self.strict)

    def gradient(self, func: Callable[..., Any], zeros: bool = False) -> tuple[Any, tuple[Any, ...]]:
        """The value of a function of one element, and its gradient; ``zeros``: also in strict mode, where none flows."""
        is_tuple, outputs = self.outputs(func)
        one_element(outputs, is_tuple, self.name)
        found = _grad(outputs, self.inputs, (outputs[0].new_ones(outputs[0].shape),), True)
        first = filled(found, self.inputs, self.strict and not zeros, False, "back")
        needs_gradients(first, self.strict)
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
        return filled(found, inputs, self.strict, graph if checked is None else checked, stage)

    def finish(self, *results: tuple[tuple[Any, ...], bool]) -> Any:
        """What the caller gets of values, each with whether it gets a tuple of them."""
        return tuple(finish(values, self.create_graph, is_tuple) for values, is_tuple in results)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of ``v`` (like the outputs) with its Jacobian."""
    with _enable_grad():
        product = _Product("vjp", inputs, create_graph, strict)
        is_tuple, outputs = product.outputs(func)
        v = vectors(v, outputs, is_tuple, "user-provided function returns", "vjp")
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

    check_strategy(strategy, create_graph, strict, vectorize)
    with _enable_grad():
        tuple_in, inputs = tuple_of(inputs, "inputs", "jacobian")
        inputs = prepared(inputs, create_graph)
        tuple_out, outputs = call(func, inputs, "jacobian", strict)
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
    blocks = [finish(r, create_graph, tuple_in) for r in result]
    return tuple(blocks) if tuple_out else blocks[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a scalar function: a block of shape input_i.shape + input_j.shape for every pair."""
    is_tuple, _ = tuple_of(inputs, "inputs", "hessian")

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
