"""``torch.distributed.fsdp.wrap``: which modules of a tree a wrapper class is put around, and the wrapping itself.

A policy is a callable ``policy(module, recurse, nonwrapped_numel)``: with ``recurse`` it says whether to look at the children,
without whether to wrap ``module``, of whose parameters ``nonwrapped_numel`` elements are in no wrapped child. The classes
(:class:`ModuleWrapPolicy`, :class:`CustomPolicy`) say it for a whole tree. Any wrapper class will do.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from shim_torch.nn import MultiheadAttention
from shim_torch.nn.modules.container import ModuleDict, ModuleList
from shim_torch.nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module is wrapped."""
    return True


class _Policy(ABC):
    """A choice of modules of a tree, each with the arguments of its wrapper."""

    @abstractmethod
    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        """``{module: arguments}`` of what is to be wrapped."""


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    """Modules of the given classes."""
    return recurse or isinstance(module, tuple(module_classes))


def _arguments_by_module(
    answer: Callable[[Module], bool | dict[str, Any]], root: Module, ignored: set[Module], root_kwargs: dict[str, Any]
) -> dict[Module, dict[str, Any]]:
    """``{module: arguments}`` where ``answer(module)`` is True or holds arguments, which go before the root's."""
    answers = {module: answer(module) for module in root.modules() if module not in ignored}
    own = {module: {} if found is True else found for module, found in answers.items() if found}
    return {module: {**root_kwargs, **given} for module, given in own.items()}


class ModuleWrapPolicy(_Policy):
    """Modules of the given classes; it is a callable policy, too."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        chosen = tuple(self._module_classes)
        return _arguments_by_module(lambda m: isinstance(m, chosen), root_module, ignored_modules, root_kwargs)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """A function of a module chooses: True, False, or a dict of arguments that go before the root's.

    Errors: ValueError when it gives anything else.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        return _arguments_by_module(self._answer, root_module, ignored_modules, root_kwargs)

    def _answer(self, module: Module) -> bool | dict[str, Any]:
        answer = self._lambda_fn(module)
        if isinstance(answer, (bool, dict)):
            return answer
        raise ValueError(
            f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {answer}"
        )


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules for which ``lambda_fn`` says True."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Modules of the given classes: the layers of a transformer."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _wrap_module_cls_individually(
    module: Module, transformer_layer_cls: Sequence[type[Module]], recurse: bool, *args: Any, **kwargs: Any
) -> bool:
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """What any of several policies chooses."""
    return any(p(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for p in policies)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Modules with at least ``min_num_params`` elements; lists and dicts of modules are not wrapped, attention not entered."""
    leaves = size_based_auto_wrap_policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # type: ignore[attr-defined]
    never = size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules  # type: ignore[attr-defined]
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else never))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


class _ConfigAutoWrap:
    """A context in which :func:`wrap` wraps. Errors: NotImplementedError inside another one."""

    in_autowrap_context: ClassVar[bool] = False
    wrapper_cls: ClassVar[Callable[..., Module] | None] = None
    kwargs: dict[str, Any] = {}  # of the class within a context, of an instance before

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    @staticmethod
    def enable_autowrap_context(kwargs: dict[str, Any]) -> None:
        """Begins it; ``kwargs`` hold ``wrapper_cls`` and its arguments."""
        if _ConfigAutoWrap.in_autowrap_context:
            raise NotImplementedError(
                "You are already within an autowrap context and we currently do not supported nested autowrap."
            )
        assert "wrapper_cls" in kwargs, "Expected to pass in wrapper_cls arg into _ConfigAutoWrap."
        _ConfigAutoWrap.in_autowrap_context = True
        _ConfigAutoWrap.wrapper_cls = kwargs.pop("wrapper_cls")
        _ConfigAutoWrap.kwargs = kwargs

    @staticmethod
    def disable_autowrap_context() -> None:
        """Ends it."""
        _ConfigAutoWrap.in_autowrap_context = False
        _ConfigAutoWrap.wrapper_cls = None
        _ConfigAutoWrap.kwargs = {}

    def __enter__(self) -> None:
        self.enable_autowrap_context(self.kwargs)

    def __exit__(self, *_: object) -> None:
        self.disable_autowrap_context()


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Within this context :func:`wrap` puts ``wrapper_cls(module, **wrapper_kwargs)`` around modules."""
    with _ConfigAutoWrap(wrapper_cls=wrapper_cls, **wrapper_kwargs):
        yield


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module wrapped as :func:`enable_wrap` says, with further arguments; outside of its context the module itself."""
    if not _ConfigAutoWrap.in_autowrap_context:
        return module
    assert _ConfigAutoWrap.wrapper_cls is not None, "Expected _ConfigAutoWrap.wrapper_cls to be set"
    return _wrap(module, _ConfigAutoWrap.wrapper_cls, **{**_ConfigAutoWrap.kwargs, **wrap_overrides})


def _wrap(module: Module, wrapper_cls: Callable[..., Module], **kwargs: Any) -> Module:
    """``wrapper_cls(module, **kwargs)``; a module's ``_wrap_overrides`` go before the arguments."""
    assert wrapper_cls is not None, "Expected wrapper_cls to be set"
    return wrapper_cls(module, **{**kwargs, **getattr(module, "_wrap_overrides", {})})


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wraps what a callable policy chooses, children first: the module (wrapped or not), and how many elements are wrapped.

    Errors: AssertionError when a child is wrapped by ``wrapper_cls`` already.
    """
    assert auto_wrap_policy is not None, "Must specify auto_wrap_policy."
    assert wrapper_cls is not None, "Must specify wrapper_cls"
    walk = _Walk(auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, kwargs)
    return walk.visit(module, keep=only_wrap_children)


class _Walk(NamedTuple):
    """What stays the same while a tree of modules is wrapped."""

    policy: Callable[..., bool]
    wrapper_cls: Callable[..., Module]
    ignored_modules: set[Module]
    ignored_params: set[Any]
    wrapper_kwargs: dict[str, Any]

    def visit(self, module: Module, keep: bool = False) -> tuple[Module, int]:
        """The module (wrapped where the policy says so, but for ``keep``), and how many of its elements are wrapped."""
        self.refuse_wrapped(module)
        size = sum(p.numel() for p in module.parameters() if p not in self.ignored_params)
        if not self.policy(module=module, recurse=True, nonwrapped_numel=size):
            return module, 0
        names = [name for name, child in module.named_children() if child not in self.ignored_modules]
        wrapped = sum(self.replace(module, name) for name in names)
        if keep or not self.policy(module=module, recurse=False, nonwrapped_numel=size - wrapped):
            return module, wrapped
        return _wrap(module, self.wrapper_cls, **self.wrapper_kwargs), size

    def replace(self, parent: Module, name: str) -> int:
        """Puts what a visit of a child gives in its place; the number of wrapped elements."""
        child, wrapped = self.visit(getattr(parent, name))
        setattr(parent, name, child)
        return wrapped

    def refuse_wrapped(self, module: Module) -> None:
        if not isinstance(self.wrapper_cls, type):
            return
        for child in module.modules():
            if isinstance(child, self.wrapper_cls) and child not in self.ignored_modules:
                raise AssertionError(f"Child module {child} is already wrapped by {self.wrapper_cls}")
