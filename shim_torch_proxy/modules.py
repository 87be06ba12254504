"""The module tree: ``torch.x`` is the module object ``shim_torch.x``, the same object each time.

``functorch``, the other package that comes with PyTorch, is ``shim_torch._impl.surface.functorch``.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import ModuleType

from shim_torch_proxy.changes import set_for_a_while

ROOT = "shim_torch"
ROOTS = {"torch": ROOT, "functorch": f"{ROOT}._impl.surface.functorch"}
OURS = "torch._impl"  # not PyTorch's: absent, as any name that it lacks
_import_module = importlib.import_module  # the plain function: hook.py wraps the public one

loaded: dict[str, ModuleType] = {}  # torch name -> module; read without a lock on the hot path
_absent: set[str] = set()
_forgotten: set[str] = set()  # deleted from ``sys.modules`` by code in scope, and not imported since
_presented: dict[str, ModuleType] | None = (
    None  # our names of the modules whose ``__name__`` is torch.x; None: none has it
)
requests: Counter[str] = Counter()  # torch sub-module names asked for, first time and missing ones only
missing: Counter[tuple[str, str]] = Counter()  # (torch name, requester)


def is_torch(name: str) -> bool:
    """Whether ``name`` is a package that comes with PyTorch, or one of its sub-modules."""
    return name.partition(".")[0] in ROOTS


def real(name: str) -> str:
    """The name of our module for a torch name: ``shim_torch.x``."""
    top, dot, rest = name.partition(".")
    return ROOTS[top] + dot + rest


def present(modules: Iterable[ModuleType]) -> None:
    """From now on the ``__name__`` of our modules is ``torch.x``, where that is wanted.

    Libraries compare the name (pyro, array-api-compat) and store it. Relative imports use ``__package__`` and the spec,
    which do not change.
    """
    held = _presented
    if held is None:
        return
    for module in modules:
        own = vars(module).get("__name__", "")
        name = _torch_name(own)
        if name is not None:
            held[own] = module
            vars(module)["__name__"] = name


def _torch_name(own: str) -> str | None:
    """The torch name of a module of ours; None for what PyTorch has not."""
    for top, ours in ROOTS.items():
        if (own == ours or own.startswith(f"{ours}.")) and not (top == "torch" and own.startswith(f"{ROOT}._impl")):
            return top + own[len(ours) :]
    return None


def present_all(wanted: bool) -> None:
    """``present`` for what is loaded and what will be; or every module has its own name again."""
    global _presented
    before, _presented = _presented or {}, {} if wanted else None
    for own, module in before.items():
        vars(module)["__name__"] = own
    present(tree().values())


def is_presented(module: object) -> bool:
    """Whether the module's ``__name__`` is ``torch.x`` now."""
    spec = getattr(module, "__spec__", None)
    return spec is not None and _presented is not None and _presented.get(spec.name) is module


def representation(plain: Callable[[ModuleType], str]) -> Callable[[ModuleType], str]:
    """``repr`` of a module with its present name; the import system's reads the spec's."""

    @functools.wraps(plain)
    def _module_repr(m: ModuleType) -> str:
        text = plain(m)
        return text.replace(repr(m.__spec__.name), repr(m.__name__), 1) if m.__spec__ and is_presented(m) else text

    return _module_repr


def install_names(stack: ExitStack) -> None:
    """Our modules call themselves what they are to code in scope, in their representations too."""
    surface = sys.modules.get(f"{ROOT}._impl.surface.finder")
    if surface is not None:  # for what is imported later
        call: Callable[[ModuleType], None] = lambda module: present([module])
        surface.when_finished.append(call)
        stack.callback(surface.when_finished.remove, call)
    present_all(True)
    stack.callback(present_all, False)
    system = sys.modules["_frozen_importlib"]
    set_for_a_while(stack, system, "_module_repr", representation(vars(system)["_module_repr"]))


def get(name: str, requester: str = "?") -> ModuleType:
    """The module that ``torch.x`` names, imported on first use.

    Errors: ModuleNotFoundError ``No module named 'torch.x'``, with ``name`` set; where PyTorch has it, with advice.
    """
    module = _find(name)
    if module is not None:
        return module
    error = unsupported(name)
    if error is None:
        missing[name, requester] += 1
        error = ModuleNotFoundError(f"No module named {name!r}", name=name)
    raise error


def unsupported(name: str) -> ModuleNotFoundError | None:
    """The error, counted, for a module that PyTorch has and ours lacks; None for one that PyTorch lacks too."""
    names = sys.modules.get(f"{ROOT}._impl.surface.missing")
    error: ModuleNotFoundError | None = None if names is None else names.unsupported_module(name)
    return error


def _find(name: str) -> ModuleType | None:
    module = loaded.get(name)
    if module is not None:
        return module
    if name.startswith(OURS):
        return None
    if name in loaded:
        raise ModuleNotFoundError(f"import of {name} halted; None in sys.modules", name=name)
    if name not in _absent:
        module = _load(name)
        if module is not None:
            loaded[name] = module
            present([module])
            requests[name] += 1
            return module
        _absent.add(name)
    return None


def _load(name: str) -> ModuleType | None:
    ours = real(name)
    try:
        return _import_module(ours)
    except ModuleNotFoundError as error:
        wanted = error.name or ""
        if wanted == ROOT:
            raise ModuleNotFoundError(
                "shim_torch is not installed; install the distribution 'shim-torch'", name=name.partition(".")[0]
            ) from None
        if not (ours == wanted or ours.startswith(wanted + ".")):
            raise  # our module failed on another import: that error says more
    # Some of torch's sub-modules (torch.ops, torch.classes) are objects, not files.
    parent, _, leaf = name.rpartition(".")
    owner = loaded.get(parent) or sys.modules.get(real(parent or name))
    value = vars(owner).get(leaf) if owner is not None else None
    return value if isinstance(value, ModuleType) else None


def exists(name: str) -> bool:
    """Whether ``torch.x`` can be imported."""
    try:
        return _find(name) is not None
    except ModuleNotFoundError:
        return False


def tree() -> dict[str, ModuleType]:
    """All of our torch's modules that are loaded now, by torch name."""
    found = {
        "torch" + name[len(ROOT) :]: module
        for name, module in list(sys.modules.items())
        if (name == ROOT or name.startswith(ROOT + ".")) and not name.startswith(real(OURS)) and module is not None
    }
    return {**found, **loaded}


def now(name: str) -> ModuleType:
    """What ``sys.modules[name]`` is to code in scope; KeyError where no such module is loaded."""
    if name in loaded:
        return loaded[name]
    module = None if name in _forgotten else sys.modules.get(real(name))
    if module is None:
        raise KeyError(name)
    return module


def forget(name: str) -> None:
    """``del sys.modules[name]`` of code in scope. Errors: KeyError."""
    now(name)
    loaded.pop(name, None)
    _forgotten.add(name)


def seen() -> list[str]:
    """The torch names in ``sys.modules`` as code in scope sees it."""
    return [name for name in tree() if name in loaded or name not in _forgotten]
