"""Graphs of a function's forward and backward, compiled apart and run as one node of autograd."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.fx.graph_module import GraphModule
from shim_torch.utils._pytree import tree_flatten


@dataclass
class Compilers:
    """What a function is compiled with; ``aot_function`` explains the fields."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    inference: Callable[..., Any]
    partition: Callable[..., Any]
    decompositions: Any
    keep_mutations: bool
    functional: bool


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _core.TensorBase)


def _boxed(compiled: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """The compiler's function, called with one list."""
    if getattr(compiled, "_boxed_call", False):
        return compiled
    warnings.warn(
        "Your compiler for AOTAutograd is returning a function that doesn't take boxed arguments. Please wrap it with "
        "functorch.compile.make_boxed_func or handle the boxed arguments yourself. See "
        "https://github.com/pytorch/pytorch/pull/83137#issuecomment-1211320670 for rationale.",
        stacklevel=2,
    )
    return lambda args: compiled(*args)


def _functional(f: Callable[..., Any], wanted: bool) -> Callable[..., Any]:
    """``f`` without writes, where that is wanted. Not ``func.functionalize``, which refuses plain ``autograd.Function``s."""
    from shim_torch._impl.transforms.functionalize import functional

    return functools.wraps(f)(functional(f, copies=False)) if wanted else f


def _trace(f: Callable[..., Any], args: tuple[Any, ...], use: Compilers) -> GraphModule:
    from shim_torch import ops
    from shim_torch.fx.experimental.proxy_tensor import make_fx
    from shim_torch.fx.graph import CodeGen

    graph = make_fx(_functional(f, use.functional), use.decompositions, "fake")(*args)
    output = next(iter(reversed(graph.graph.nodes)))
    output.args = (tuple(tree_flatten(output.args[0], is_leaf=lambda x: x is None)[0]),)
    for node in [n for n in graph.graph.nodes if n.target is ops.aten.detach.default]:
        node.replace_all_uses_with(node.args[0])  # a graph records no gradients
        graph.graph.erase_node(node)
    graph.graph.set_codegen(CodeGen())  # lists of arguments become plain parameters
    graph.recompile()
    return graph


def _examples(graph: GraphModule) -> list[Any]:
    """What the compiler sees of the inputs: fake tensors."""
    return [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]


class Call:
    """The tensors of a call, and the function of those alone."""

    def __init__(self, f: Callable[..., Any], leaves: list[Any], rebuild: Callable[[list[Any]], Any]) -> None:
        self.f, self.leaves, self.rebuild = f, list(leaves), rebuild
        self.places = [i for i, x in enumerate(leaves) if _is_tensor(x)]
        self.out_spec: Any = None
        self.constants: list[Any] = []

    def tensors(self) -> list[Any]:
        """The tensors among the arguments."""
        return [self.leaves[i] for i in self.places]

    def forget(self) -> None:
        """Lets go of the tensors of the call that was traced."""
        for place in self.places:
            self.leaves[place] = None

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The tensors that the function gives for those; what else it gives is kept for every later call."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = self.rebuild(leaves)
        found, self.out_spec = tree_flatten(self.f(*args, **kwargs))
        self.constants = [None if _is_tensor(x) else x for x in found]
        self.returned = [_is_tensor(x) for x in found]
        return [x for x in found if _is_tensor(x)]

    def result(self, tensors: Sequence[Any]) -> Any:
        """The function's result, made of the graph's."""
        from shim_torch.utils._pytree import tree_unflatten

        rest = iter(tensors)
        leaves = [next(rest) if is_tensor else x for x, is_tensor in zip(self.constants, self.returned, strict=True)]
        return tree_unflatten(leaves, self.out_spec)


def _without_mutations(graph: GraphModule) -> list[int]:
    """Takes the writes to inputs out of the graph, which gives their values first; the written inputs' places."""
    from shim_torch import ops

    inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
    writes = [n for n in graph.graph.nodes if n.target is ops.aten.copy_.default and n.args[0] in inputs]
    values, places = [n.args[1] for n in writes], [inputs.index(n.args[0]) for n in writes]
    output = next(iter(reversed(graph.graph.nodes)))
    output.args = ((*values, *output.args[0]),)
    for node in writes:
        node.replace_all_uses_with(node.args[1])
        graph.graph.erase_node(node)
    graph.recompile()
    return places


def compile_inference(call: Call, fakes: list[Any], use: Compilers) -> Callable[[list[Any]], list[Any]]:
    """The compiled graph of a call that records no gradients, as a function of tensors."""
    import shim_torch as torch

    graph = _trace(lambda *args: call.run(args), tuple(fakes), use)
    places = [] if use.keep_mutations else _without_mutations(graph)
    compiled = _boxed(use.inference(graph, _examples(graph)))

    def run(tensors: list[Any]) -> list[Any]:
        with torch.no_grad():
            found = compiled(list(tensors))
        for place, value in zip(places, found, strict=False):
            tensors[place].copy_(value)
        return list(found[len(places) :])

    return run


def _clone_written(graph: GraphModule) -> None:
    """Steps read a copy of an input that is written at the end, so that backward does not see the new values."""
    from shim_torch import ops

    for node in [n for n in graph.graph.nodes if n.target is ops.aten.copy_.default]:
        place = node.args[0]
        if place.op != "placeholder":
            continue
        with graph.graph.inserting_before(next(n for n in graph.graph.nodes if n.op != "placeholder")):
            before = graph.graph.call_function(ops.aten.clone.default, (place,))
        before.meta = dict(place.meta)
        place.replace_all_uses_with(before, lambda user, keep=(node, before): user not in keep)
        if node.args[1] is before:
            node.args = (place, before)
    graph.graph.eliminate_dead_code()


def _trace_joint(call: Call, fakes: list[Any], outs: list[Any], use: Compilers) -> GraphModule:
    """The graph of the results, then the gradients of all tensors, from ``primals`` and ``tangents``."""
    import shim_torch as torch

    wanted = [i for i, x in enumerate(fakes) if x.requires_grad]

    def joint(primals: list[Any], tangents: list[Any]) -> Any:
        found = call.run(primals)
        with torch.enable_grad():
            grads = torch.autograd.grad(
                [x for x in found if x.requires_grad], [primals[i] for i in wanted], tangents, allow_unused=True
            )
        return [*found, *[grads[wanted.index(i)] if i in wanted else None for i in range(len(fakes))]]

    tangents = [torch.empty_like(x).detach() for x in outs if x.requires_grad]
    graph = _trace(joint, (fakes, tangents), use)
    _clone_written(graph)
    return graph


def _results_of(call: Call, fakes: list[Any], use: Compilers) -> list[Any]:
    """What the function gives for copies of those. Errors: NotImplementedError where it writes into one that requires grad."""
    copies = [x.clone() for x in fakes]
    before = [x._version for x in copies]
    found: list[Any] = _functional(lambda *args: call.run(args), use.functional)(*copies)
    if any(x.requires_grad and x._version != v for x, v in zip(copies, before, strict=True)):
        raise NotImplementedError(
            "functorch.compile.aot_function is not supported by shim-torch for a function that writes into an argument "
            "that requires grad; write into a clone of it"
        )
    return found


def compile_training(call: Call, fakes: list[Any], outs: list[Any], use: Compilers) -> Callable[[list[Any]], Any]:
    """The compiled graphs of a call that records gradients, as a function of tensors."""
    from shim_torch.autograd import Function
    from shim_torch.autograd.function import once_differentiable

    joint = _trace_joint(call, fakes, outs, use)
    forward, backward = use.partition(joint, _examples(joint), num_fwd_outputs=len(outs))
    compiled = _boxed(use.forward(forward, _examples(forward)))
    differentiable = [x.requires_grad for x in outs]
    later: list[Callable[[list[Any]], Any]] = []  # backward is compiled when it is first asked for

    class CompiledFunction(Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            found = compiled(list(tensors))
            results, saved = found[: len(outs)], found[len(outs) :]
            ctx.save_for_backward(*saved)
            ctx.mark_non_differentiable(*[x for x, d in zip(results, differentiable, strict=True) if not d])
            return tuple(results)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            if not later:
                later.append(_boxed(use.backward(backward, _examples(backward))))
            tangents = [g.contiguous() for g, d in zip(grads, differentiable, strict=True) if d]
            return tuple(later[0]([*ctx.saved_tensors, *tangents]))

    return lambda tensors: list(CompiledFunction.apply(*tensors))


def compile_call(call: Call, use: Compilers) -> Callable[[list[Any]], list[Any]]:
    """The call's graphs, compiled: one of inference where no result requires grad."""
    import shim_torch as torch
    from shim_torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    fakes = [mode.from_tensor(x.detach()).requires_grad_(x.requires_grad) for x in call.tensors()]
    if torch.is_grad_enabled() and any(x.requires_grad for x in fakes):
        with mode:
            outs = _results_of(call, fakes, use)
        if any(x.requires_grad for x in outs):
            return compile_training(call, fakes, outs, use)
    with contextlib.nullcontext() if not torch.is_grad_enabled() else torch.no_grad():
        return compile_inference(call, [x.detach() for x in fakes], use)
