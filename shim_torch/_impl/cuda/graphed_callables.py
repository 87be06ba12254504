"""``torch.cuda.make_graphed_callables``: forward and backward of a callable as two CUDA graphs, replayed by one autograd node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import shim_torch as torch
from shim_torch._impl.cuda import graphs, streams
from shim_torch._impl.native import _core
from shim_torch.utils import _pytree as pytree


class _Captured:
    """A callable's two graphs, and the fixed places of what they read and write.

    ``inputs`` are the sample's tensors, to which arguments are copied, and the module's parameters, which are read where they are.
    Parameters' gradients, which live on as ``grad``, have memory outside the pool: in it, any graph may write there.
    """

    def __init__(self, call: Callable[..., Any], sample: tuple[Any, ...], allow_unused: bool) -> None:
        self.call, self.sample, self.allow_unused = call, sample, allow_unused
        places, self.structure = pytree.tree_flatten(sample)
        self.places: tuple[Any, ...] = tuple(places)
        self.parameters: tuple[Any, ...] = tuple(call.parameters()) if isinstance(call, torch.nn.Module) else ()
        self.inputs = (*self.places, *self.parameters)
        self.learned = tuple(i for i, t in enumerate(self.inputs) if t.requires_grad)
        self.forward, self.backward = graphs.CUDAGraph(), graphs.CUDAGraph()
        self.outputs: tuple[Any, ...] = ()
        self.output_structure: Any = None
        self.given: dict[int, Any] = {}  # output -> the place of its gradient
        self.gradients: list[Any] = [None] * len(self.inputs)

    def _gradients(self, outputs: Iterable[Any], given: Iterable[Any]) -> tuple[Any, ...]:
        return torch.autograd.grad(  # type: ignore[no-any-return]
            tuple(outputs),
            tuple(self.inputs[i] for i in self.learned),
            grad_outputs=tuple(given),
            allow_unused=self.allow_unused,
        )

    def _called(self) -> tuple[list[Any], Any]:
        """The results of a call, which must be tensors, and how they are put together."""
        outputs, structure = pytree.tree_flatten(self.call(*self.sample))
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise TypeError(
                    f"torch.cuda.make_graphed_callables: {_name(self.call)} returned a {type(output).__name__}; a graphed "
                    "callable returns tensors, or lists, tuples and dicts of them"
                )
        return outputs, structure

    def warm_up(self) -> None:
        """One call and its gradients: what is compiled, measured and allocated at first use is there before the capture."""
        made = [t for t in self._called()[0] if t.requires_grad]
        if made and self.learned:
            self._gradients(made, (torch.empty_like(t) for t in made))

    def capture_forward(self, pool: Any) -> None:
        with graphs.graph(self.forward, pool=pool):
            outputs, self.output_structure = self._called()
        self.outputs = tuple(outputs)

    def capture_backward(self, pool: Any) -> None:
        if self.learned:
            self.given = {i: torch.empty_like(t) for i, t in enumerate(self.outputs) if t.requires_grad}
        if self.given:
            kept = {i: torch.empty_like(self.inputs[i]) for i in self.learned if i >= len(self.places)}
            with graphs.graph(self.backward, pool=pool):
                outputs = (self.outputs[i] for i in self.given)
                made = dict(zip(self.learned, self._gradients(outputs, self.given.values()), strict=True))
                copied = [i for i in kept if made[i] is not None]
                if copied:
                    torch._foreach_copy_([kept[i] for i in copied], [made[i] for i in copied])
            for i, gradient in made.items():
                self.gradients[i] = kept[i] if i in copied else gradient
        self.outputs = tuple(t.detach() for t in self.outputs)  # what was saved for backward is the graphs' alone

    def run_forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for place, t in zip(self.places, inputs, strict=False):
            if place.data_ptr() != t.data_ptr():
                place.detach().copy_(t)
            elif place.stride() != t.stride():  # another view of the place's own memory
                place.detach().copy_(t.clone())
        self.forward.replay()
        return tuple(t.detach() for t in self.outputs)

    def run_backward(self, given: tuple[Any, ...], leaves: set[int]) -> tuple[Any, ...]:
        for i, place in self.given.items():
            if place.data_ptr() != given[i].data_ptr():
                place.copy_(given[i])
        # A parameter may have taken the last replay's gradient as it is: this replay writes there.
        for p, made in zip(self.parameters, self.gradients[len(self.places) :], strict=True):
            if made is not None and p.grad is not None and p.grad.data_ptr() == made.data_ptr():
                p.grad = p.grad.clone()
        self.backward.replay()
        return tuple(
            None if t is None else t.clone() if i in leaves else t.detach() for i, t in enumerate(self.gradients)
        )

    def __call__(self, *args: Any) -> Any:
        given, structure = pytree.tree_flatten(args)
        if structure != self.structure:
            raise TypeError(
                f"torch.cuda.make_graphed_callables: {_name(self.call)} was captured with arguments {self.structure}, and called "
                f"with {structure}"
            )
        for i, (place, t) in enumerate(zip(self.places, given, strict=True)):
            if not isinstance(t, torch.Tensor) or (t.shape, t.dtype, t.device) != (
                place.shape,
                place.dtype,
                place.device,
            ):
                shown = f"{t.dtype} {tuple(t.shape)} on {t.device}" if isinstance(t, torch.Tensor) else type(t).__name__
                raise ValueError(
                    f"torch.cuda.make_graphed_callables: {_name(self.call)} was captured with {place.dtype} "
                    f"{tuple(place.shape)} on {place.device} as tensor {i} of its arguments, and called with {shown}"
                )
        return pytree.tree_unflatten(_Replay.apply(self, *given, *self.parameters), self.output_structure)


class _Replay(torch.autograd.Function):
    """The node of a graphed callable."""

    @staticmethod
    def forward(ctx: Any, captured: _Captured, *inputs: Any) -> tuple[Any, ...]:  # type: ignore[override]
        ctx.captured = captured
        # Of an argument that is a leaf somebody may keep the gradient, which the next replay overwrites.
        ctx.leaves = {i for i, t in enumerate(inputs[: len(captured.places)]) if t.requires_grad and t.is_leaf}
        outputs = captured.run_forward(inputs)
        ctx.mark_non_differentiable(*(t for i, t in enumerate(outputs) if i not in captured.given))
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *given: Any) -> tuple[Any, ...]:  # type: ignore[override]
        return (None, *ctx.captured.run_backward(given, ctx.leaves))


def _name(call: Any) -> str:
    return getattr(call, "__name__", type(call).__name__)


def _checked(call: Any, sample: tuple[Any, ...]) -> None:
    """What may not be captured is PyTorch's AssertionError."""
    if isinstance(call, torch.nn.Module):
        assert not (call._backward_hooks or call._forward_hooks or call._forward_pre_hooks), (
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules after "
            "passing them through make_graphed_callables is allowed."
        )
        assert not any(b.requires_grad for b in call.buffers()), (
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be trainable. All "
            "buffers must have ``requires_grad=False``."
        )
    assert all(isinstance(t, torch.Tensor) for t in pytree.tree_leaves(sample)), (
        "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed."
    )


def _in_place(module: Any, captured: _Captured) -> Any:
    """The module, whose forward is the graphs' while it is in the mode that it was captured in."""
    eager, mode = module.forward, module.training

    def forward(*args: Any, **kwargs: Any) -> Any:
        return captured(*args, **kwargs) if module.training == mode else eager(*args, **kwargs)

    captured.call = eager
    module.forward = forward
    return module


def graphed(callables: Any, sample_args: Any, warm_ups: int, allow_unused: bool, pool: tuple[int, int] | None) -> Any:
    """What ``graphs.make_graphed_callables`` gives."""
    if torch.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    several = isinstance(callables, tuple)
    calls, samples = (callables, sample_args) if several else ((callables,), (sample_args,))
    if len(samples) != len(calls):
        raise ValueError(
            f"torch.cuda.make_graphed_callables: {len(calls)} callables were given and sample_args of {len(samples)}; give a tuple "
            "of arguments for each"
        )
    for call, sample in zip(calls, samples, strict=True):
        _checked(call, sample)
    if not _core.cuda_device_count():
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")
    captured = [_Captured(call, sample, allow_unused) for call, sample in zip(calls, samples, strict=True)]
    pool = graphs.graph_pool_handle() if pool is None else pool
    torch.cuda.synchronize()
    with streams.stream(streams.Stream()):
        for one in captured:
            for _ in range(warm_ups):
                one.warm_up()
    torch.cuda.synchronize()
    # In the order of a step, so that memory which one graph is done with can be another's.
    for one in captured:
        one.capture_forward(pool)
    for one in reversed(captured):
        one.capture_backward(pool)
    made = tuple(
        _in_place(call, one) if isinstance(call, torch.nn.Module) else one
        for call, one in zip(calls, captured, strict=True)
    )
    return made if several else made[0]
