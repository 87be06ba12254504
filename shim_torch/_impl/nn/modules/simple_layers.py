"""Layers that only keep their arguments and call one function of ``nn.functional``."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from shim_torch.nn import functional as F
from shim_torch.nn.modules.module import Module

REQUIRED = object()


def constructor(settings: dict[str, Any]) -> Signature:
    """The signature of an ``__init__`` with these arguments and defaults (``Parameter.empty``: none)."""
    either = Parameter.POSITIONAL_OR_KEYWORD
    return Signature([Parameter("self", either), *(Parameter(n, either, default=v) for n, v in settings.items())])


def functional_layer(
    name: str, function: str, doc: str, /, _inputs: int = 1, _base: type[Module] = Module, **settings: Any
) -> type[Module]:
    """A Module class: ``settings`` are its constructor's arguments with defaults, passed to ``F.function`` by name."""
    names = tuple(settings)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        if len(args) > len(names):
            raise TypeError(f"{name}.__init__() takes at most {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in settings or key in given:
                problem = "got multiple values for" if key in given else "got an unexpected keyword"
                raise TypeError(f"{name}.__init__() {problem} argument '{key}'")
            given[key] = value
        for key, fallback in settings.items():
            value = given.get(key, fallback)
            if value is REQUIRED:
                raise TypeError(f"{name}.__init__() missing 1 required positional argument: '{key}'")
            setattr(self, key, value)

    def run(self: Any, *inputs: Any) -> Any:
        return getattr(F, function)(*inputs, **{key: getattr(self, key) for key in names})

    def of_one(self: Any, input: Any) -> Any:
        return run(self, input)

    def of_two(self: Any, x1: Any, x2: Any) -> Any:
        return run(self, x1, x2)

    forward = of_two if _inputs == 2 else of_one
    forward.__name__, forward.__qualname__ = "forward", f"{name}.forward"
    __init__.__qualname__ = f"{name}.__init__"
    __init__.__signature__ = constructor({k: Parameter.empty if v is REQUIRED else v for k, v in settings.items()})  # type: ignore[attr-defined]

    def extra_repr(self: Any) -> str:
        shown = [f"{key}={getattr(self, key)}" for key in names if not (key == "inplace" and not self.inplace)]
        return ", ".join(shown)

    return type(
        name,
        (_base,),
        {
            "__init__": __init__,
            "forward": forward,
            "extra_repr": extra_repr,
            "__doc__": doc,
            "__constants__": list(names),
        },
    )
