"""``torch._functorch.make_functional``: a module as a function of its parameters, the way before ``torch.func.functional_call``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch import Tensor, nn
from shim_torch._impl.transforms.stateless import _swapped, check_alike

NamesMap = dict[str, list[str]]


def _names_map(named: Any, tied: Any) -> NamesMap:
    """The first name of each tensor -> all its names."""
    everywhere: dict[Tensor, list[str]] = {}
    for name, tensor in tied:
        everywhere.setdefault(tensor, []).append(name)
    return {name: everywhere[tensor] for name, tensor in named}


def _taken(model: nn.Module, named: Any, tied: Any, wrap: Any) -> tuple[tuple[Tensor, ...], tuple[str, ...], NamesMap]:
    """The tensors, their first names, and all names; in the model they become empty ones on the meta device."""
    pairs = list(named)
    names = _names_map(pairs, tied)
    placeholders = {t: wrap(t) for _, t in pairs}
    for name, tensor in pairs:
        for other in names[name]:
            _swapped(model, other, placeholders[tensor])
    return tuple(t for _, t in pairs), tuple(n for n, _ in pairs), names


def extract_weights(mod: nn.Module) -> tuple[tuple[Tensor, ...], tuple[str, ...], NamesMap]:
    """Takes the parameters out of a module: (parameters, names, names of the tied ones by the first)."""

    def empty(x: Tensor) -> Any:
        return nn.Parameter(x.new_empty(x.shape, device="meta"), requires_grad=x.requires_grad)

    tied = list(mod.named_parameters(remove_duplicate=False))
    return _taken(mod, mod.named_parameters(), tied, empty)


def extract_buffers(mod: nn.Module) -> tuple[tuple[Tensor, ...], tuple[str, ...], NamesMap]:
    """Takes the buffers out of a module: (buffers, names, names of the tied ones by the first)."""
    tied = list(mod.named_buffers(remove_duplicate=False))
    return _taken(mod, mod.named_buffers(), tied, lambda x: x.new_empty(x.shape, device="meta"))


def load_state(
    model: nn.Module, weights: Sequence[Tensor], names: Sequence[str], buffers: Any = (), buffer_names: Any = ()
) -> nn.Module:
    """Puts parameters and buffers, taken out before, into a module."""
    if len(names) != len(weights) or len(buffer_names) != len(buffers):
        raise AssertionError(f"expected as many tensors as names, got {len(weights)} for {len(names)}")
    for name, value in zip((*names, *buffer_names), (*weights, *buffers), strict=True):
        _deleted(model, name)
        holder, _, key = name.rpartition(".")
        setattr(model.get_submodule(holder), key, value)
    return model


def _deleted(model: nn.Module, name: str) -> None:
    holder, _, key = name.rpartition(".")
    delattr(model.get_submodule(holder), key)


def load_weights(mod: nn.Module, names: Sequence[str], params: Sequence[Tensor], as_params: bool = False) -> None:
    """Puts parameters into a module, as plain tensors unless ``as_params``."""
    load_state(mod, [nn.Parameter(p) for p in params] if as_params else params, names)


def load_buffers(mod: nn.Module, names: Sequence[str], buffers: Sequence[Tensor], as_params: bool = False) -> None:
    """Puts buffers into a module."""
    load_state(mod, buffers, names)


def _swap_state(model: nn.Module, names_map: NamesMap, values: Any) -> list[Any]:
    """Puts values in the places of their names; what was there, in the same order."""
    old = []
    for names, value in zip(names_map.values(), values, strict=False):
        for i, name in enumerate(names):
            was = _swapped(model, name, value)
            if i == 0:
                old.append(was)
    return old


def _without_history(values: tuple[Any, ...], off: bool) -> tuple[Any, ...]:
    for p in values if off else ():
        p.requires_grad_(False)
    return values


class FunctionalModuleWithBuffers(nn.Module):
    """A callable ``(params, buffers, *args, **kwargs)``: a module without its state."""

    def __init__(
        self,
        stateless_model: nn.Module,
        param_names: Any,
        buffer_names: Any,
        param_names_map: Any,
        buffer_names_map: Any,
    ) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False) -> Any:
        model = copy.deepcopy(model)
        params, names, names_map = extract_weights(model)
        buffers, buffer_names, buffer_map = extract_buffers(model)
        made = FunctionalModuleWithBuffers(model, names, buffer_names, names_map, buffer_map)
        return made, _without_history(params, disable_autograd_tracking), buffers

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters and buffers in place of its own."""
        old = _swap_state(self.stateless_model, self.all_names_map, (*params, *buffers))
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            _swap_state(self.stateless_model, self.all_names_map, old)


class FunctionalModule(nn.Module):
    """A callable ``(params, *args, **kwargs)``: a module without its parameters."""

    def __init__(self, stateless_model: nn.Module, param_names: Any, names_map: Any) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False) -> Any:
        model = copy.deepcopy(model)
        params, names, names_map = extract_weights(model)
        return FunctionalModule(model, names, names_map), _without_history(params, disable_autograd_tracking)

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters in place of its own."""
        old = _swap_state(self.stateless_model, self.names_map, params)
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            _swap_state(self.stateless_model, self.names_map, old)


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> Any:
    """(a function of parameters and arguments, the parameters) of a module without buffers."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False) -> Any:
    """(a function of parameters, buffers and arguments, the parameters, the buffers) of a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def transpose_stack(tuple_of_tuple_of_tensors: Any) -> tuple[Tensor, ...]:
    """Tensors of the same place, stacked."""
    from shim_torch import stack

    return tuple(stack(shards).detach() for shards in zip(*tuple_of_tuple_of_tensors, strict=True))


def combine_state_for_ensemble(models: Sequence[nn.Module]) -> Any:
    """(the function of the first model, parameters and buffers of all of them stacked), to be run under ``vmap``."""
    check_alike("combine_state_for_ensemble", models)
    functions, params, buffers = zip(*[make_functional_with_buffers(m) for m in models], strict=True)
    return functions[0], transpose_stack(params), transpose_stack(buffers)


def make_functional_deprecated_v1(model: nn.Module) -> Any:
    """(parameters, a function ``f(params, args tuple)``, names) of a module without buffers."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional_deprecated_v1(model): `model` has buffers. "
            "Please use make_functional_with_buffers_deprecated_v1(model) instead."
        )
    params, function, names = _first_version(model)
    return params, lambda p, data: function(p, (), data), names


def make_functional_with_buffers_deprecated_v1(model: nn.Module) -> Any:
    """(parameters, buffers, a function ``f(params, buffers, args tuple)``, names, names of buffers) of a module."""
    buffers, buffer_names, _ = extract_buffers(model := copy.deepcopy(model))
    params, function, names = _first_version(model, buffer_names)
    return params, buffers, function, names, buffer_names


def _first_version(
    model: nn.Module, buffer_names: tuple[str, ...] = ()
) -> tuple[Any, Callable[..., Any], tuple[str, ...]]:
    params, names, names_map = extract_weights(model)
    if any(len(tied) > 1 for tied in names_map.values()):
        raise RuntimeError(
            "make_functional(module): we don't yet support models that do parameter tying (also sometimes known as weight "
            "sharing). Please try to rewrite your model by replacing all instances of the tied parameter with another and/or "
            "comment your support in https://github.com/pytorch/functorch/issues/446"
        )

    def function(params: Any, buffers: Any, data: Any) -> Any:
        return load_state(copy.deepcopy(model), params, names, buffers, buffer_names)(*data)

    return params, function, names


def functional_init(model_class: Any, ensemble_shape: Any = (), device: Any = "cpu") -> Callable[..., Any]:
    """A function of the class's arguments that makes (stacked parameters, function, names) of an ensemble."""
    return _maker("functional_init", make_functional_deprecated_v1, 1, model_class, ensemble_shape, device)


def functional_init_with_buffers(model_class: Any, ensemble_shape: Any = (), device: Any = "cpu") -> Callable[..., Any]:
    """As functional_init, of modules that have buffers: (parameters, buffers, function, names, names of buffers)."""
    split = make_functional_with_buffers_deprecated_v1
    return _maker("functional_init_with_buffers", split, 2, model_class, ensemble_shape, device)


def _maker(
    name: str, split: Callable[..., Any], held: int, model_class: Any, shape: Any, device: Any
) -> Callable[..., Any]:
    """What makes ensembles: ``split`` takes a module apart, and the first ``held`` of its parts are tensors to stack."""

    def made(*args: Any, **kwargs: Any) -> Any:
        if not shape:
            return make_functional_deprecated_v1(model_class(*args, **kwargs))
        members = [split(m) for m in _ensemble(model_class, shape, device, args, kwargs, name)]
        described = split(model_class(*args, **kwargs))[held:]
        return *map(transpose_stack, [*zip(*members, strict=True)][:held]), *described

    return made


def _ensemble(model_class: Any, shape: Any, device: Any, args: Any, kwargs: Any, name: str) -> list[Any]:
    if len(shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if shape[0] <= 0:
        raise ValueError(f"num_models {shape[0]} should be > 0")
    return [model_class(*args, **kwargs).to(device) for _ in range(shape[0])]
