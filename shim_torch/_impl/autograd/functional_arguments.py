"""What the Jacobians and products of ``torch.autograd.functional`` take and refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core

Tensor = _core.Tensor


def tuple_of(x: Any, what: str, fn_name: str) -> tuple[bool, tuple[Any, ...]]:
    """(whether ``x`` is a tuple, its tensors as a tuple); TypeError, naming ``what``, for anything else."""
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


def prepared(values: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs to differentiate by: new leaves, or with ``create_graph`` views of those that require gradients."""
    prepared = []
    for t in values:
        if create_graph and t.requires_grad:
            prepared.append(t.view_as(t))
        else:
            prepared.append(t.detach().requires_grad_())
    return tuple(prepared)


def vectors(v: Any, like: tuple[Any, ...], is_tuple: bool, source: str, fn_name: str) -> tuple[Any, ...]:
    """``v`` as one vector for each tensor of ``like``, of its shape; None stands for 1 where there is one element.

    Errors: RuntimeError for other numbers or shapes, and for None where there are more elements.
    """
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(f"The vector v can only be None if the {source} a single Tensor with a single element.")
        return tuple(t.new_ones(t.shape) for t in like)
    _, v = tuple_of(v, "v", fn_name)
    if len(like) != len(v):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            at = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(f"{at}v has invalid size: should be {b.shape} but got {a.shape}.")
    return tuple(v)


def filled(
    grads: tuple[Any, ...], like: tuple[Any, ...], strict: bool, create_graph: bool, stage: str
) -> tuple[Any, ...]:
    """Gradients by the tensors ``like``, with zeros for None.

    Errors: under ``strict`` RuntimeError in the words of ``stage`` for None and, with ``create_graph``, no history.
    """
    made = []
    for i, (g, t) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(STRICT[stage].format(i))
            g = t.new_zeros(t.shape)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(INDEPENDENT[stage].format(i))
        made.append(g)
    return tuple(made)


STRICT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


INDEPENDENT = {
    "back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True.",
    "back_trick": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode "
    "when create_graph=True.",
    "double_back": "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode "
    "when create_graph=True.",
    "double_back_trick": "The hessian of the user-provided function is independent of input {}. This is not allowed in strict "
    "mode when create_graph=True.",
}


def needs_gradients(jacobian: tuple[Any, ...], strict: bool) -> None:
    """Under ``strict``, RuntimeError for a Jacobian that does not depend on the inputs."""
    for i, t in enumerate(jacobian):
        if strict and not t.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{i} is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
                "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
                "for example)."
            )


def finish(values: tuple[Any, ...], create_graph: bool, is_tuple: bool) -> Any:
    """Results as a tuple or a single value, without history unless ``create_graph``."""
    if not create_graph:
        values = tuple(detached(t) for t in values)
    return values if is_tuple else values[0]


def detached(x: Any) -> Any:
    """A tensor, or tensors in nested tuples, without history."""
    return tuple(map(detached, x)) if isinstance(x, tuple) else x.detach()


def call(func: Callable[..., Any], inputs: tuple[Any, ...], fn_name: str, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """(whether the outputs are a tuple, the outputs); under ``strict`` RuntimeError for one without history."""
    is_tuple, outputs = tuple_of(func(*inputs), "outputs of the user-provided function", fn_name)
    if strict:
        for i, o in enumerate(outputs):
            if not o.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                    "differentiable manner from the input when running in strict mode."
                )
    return is_tuple, outputs


def one_element(outputs: tuple[Any, ...], is_tuple: bool, name: str) -> None:
    """RuntimeError unless the function ``name`` was given returned a single tensor of one element."""
    if is_tuple or not isinstance(outputs[0], Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


_TOGETHER = (
    "torch.autograd.functional.jacobian: `strict=True` and {} are not supported together{}. Please either set "
    "`strict=False` or {}."
)


def check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Refuses settings of ``jacobian`` that do not go together."""
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
