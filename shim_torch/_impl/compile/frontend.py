"""``torch.compile`` and what ``torch.compiler`` has beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.compile import calls
from shim_torch._impl.compile.errors import InvalidBackend
from shim_torch._impl.compile.settings import BACKENDS, Settings, checked, given, registered


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function that records the operators of ``model``, and at later calls defers and runs them together.

    A module comes back in an ``OptimizedModule``, whose ``_orig_mod`` it is. Without ``model``: what takes one.
    Python runs at each call, so no result is ever stale (docs/compile.md). ``recompile_limit``: how many ways through
    the function are remembered, 8 if it is not given; other ways run as they are. ``name`` only names it.

    Errors:  PyTorch's, for backends, modes and options that there are not; NotImplementedError for isolate_recompiles
             and shapes_spec; torch._dynamo.exc.Unsupported of a call with ``fullgraph`` that reads values
    """
    settings = given(
        fullgraph=fullgraph,
        dynamic=dynamic,
        backend=backend,
        mode=mode,
        options=options,
        name=name,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
        shapes_spec=shapes_spec,
    )
    if model is None:
        return functools.partial(_compiled, settings=settings, disable=disable)
    return _compiled(model, settings, disable)


def _compiled(model: Any, settings: Settings, disable: bool) -> Any:
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    from shim_torch.nn import Module

    if isinstance(model, Module):
        from shim_torch._dynamo import eval_frame

        wrapper: Any = eval_frame.OptimizedModule
        calls.note_settings(settings)
        return model if isinstance(model, wrapper) else wrapper(model, settings)
    if isinstance(model, type):
        return model  # a class: its calls make instances
    return calls.wrap(model, settings)


class set_stance:
    """How compiled functions run, from here on or within ``with``: "default"; "force_eager": as they are; "eager_on_recompile":
    operators on no known way run as they are, and nothing is learned; "fail_on_recompile": they are a RuntimeError.

    Errors:  RuntimeError at a call with another stance; NotImplementedError for the other arguments and stances
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance in ("eager_then_compile", "aot_eager_then_compile"):
            raise NotImplementedError(
                f"torch.compiler.set_stance({stance!r}) is not supported by shim-torch: use one of {calls.STANCES}"
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        if force_backend is not None or skip_guard_eval_unsafe:
            raise NotImplementedError(
                "torch.compiler.set_stance(): force_backend and skip_guard_eval_unsafe are not supported by shim-torch"
            )
        self._was, self.stance = calls.stance, stance
        calls.take_stance(stance)

    def __enter__(self) -> None:
        calls.take_stance(self.stance)

    def __exit__(self, *_: Any) -> None:
        calls.take_stance(self._was)

    def __call__(self, fn: Any) -> Any:
        calls.take_stance(self._was)  # of a decorator: while the function runs

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.stance):
                return fn(*args, **kwargs)

        return wrapped


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends' names: without ``exclude_tags`` also those that run a trace operator by operator."""
    return sorted({"cudagraphs", "inductor", *registered} if exclude_tags else {*BACKENDS, *registered})


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Makes a backend known by a name, its function's own where none is given. Without a function: what takes one.

    Errors:  AssertionError for what cannot be called, and for a name that is taken; NotImplementedError for ``tags``
    """
    if tags:
        raise NotImplementedError(
            "torch._dynamo.register_backend(tags=) is not supported by shim-torch: leave them out"
        )

    def make_known(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise AssertionError(f"a backend must be callable, not {type(function).__name__}")
        key = name or function.__name__
        if key in {*BACKENDS, *registered}:
            raise AssertionError(f"duplicate name: {key}")
        registered[key] = function
        return function

    return make_known if compiler_fn is None else make_known(compiler_fn)


def lookup_backend(compiler_fn: str | Callable[..., Any]) -> Any:
    """The backend of a name: a function of a GraphModule and example inputs. Errors: InvalidBackend for an unknown name."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in registered:
        return registered[compiler_fn]
    if compiler_fn in ("eager", "aot_eager"):
        return _as_it_is
    if compiler_fn in ("cudagraphs", "inductor"):
        return functools.partial(_deferred, compiler_fn)
    raise InvalidBackend(compiler_fn)


def _as_it_is(module: Any, inputs: Any) -> Any:
    return module.forward


def _deferred(name: str, module: Any, inputs: Any) -> Any:
    return calls.wrap(module.forward, checked(name, None, None, False, None))
