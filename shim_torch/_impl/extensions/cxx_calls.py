"""What the C++ headers of extensions leave to Python, called by name (``shim_cxx_python``): arguments and results are plain values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any


def attribute(tensor: Any, name: str) -> Any:
    """An attribute of a tensor."""
    return getattr(tensor, name)


def set_attribute(tensor: Any, name: str, value: Any) -> None:
    """Assigns an attribute of a tensor."""
    setattr(tensor, name, value)


def method(tensor: Any, name: str, *arguments: Any) -> Any:
    """What a method of a tensor gives."""
    return getattr(tensor, name)(*arguments)


def device(text: str) -> Any:
    """``torch.device(text)``."""
    from shim_torch import device

    return device(text)


def grad(outputs: Any, inputs: Any, grad_outputs: Any, retain: Any, create: bool, allow_unused: bool) -> list[Any]:
    """``torch::autograd::grad``: as ``torch.autograd.grad``; one tensor or None an input."""
    from shim_torch.autograd import grad

    given = list(grad_outputs) or None
    try:
        return list(grad(list(outputs), list(inputs), given, retain, create, allow_unused=allow_unused))
    except RuntimeError as error:  # in the words of the C++ function
        found = re.match(r"The differentiated Tensor at index (\d+) appears", str(error))
        if not found:
            raise
        raise RuntimeError(
            f"element {found[1]}of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        ) from None


def printed(tensor: Any, type_text: str) -> str:
    """What C++ streams write of a tensor."""
    from shim_torch._impl.extensions import cxx_printing

    return cxx_printing.text_of(tensor, type_text)


def backward(tensors: Any, grad_tensors: Any, retain: Any, create: bool, inputs: Any) -> None:
    """``torch::autograd::backward``: as ``torch.autograd.backward``."""
    from shim_torch.autograd import backward

    backward(list(tensors), list(grad_tensors) or None, retain, create, inputs=list(inputs) or None)


def register_hook(tensor: Any, hook: Any) -> int:
    """Adds a hook on a tensor's gradient; its number."""
    return int(tensor.register_hook(hook).id)


def non_overlapping_and_dense(sizes: Any, strides: Any) -> bool:
    """Whether the elements fill a stretch of memory, each once."""
    step = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size != 1):
        if stride != step:
            return False
        step *= size
    return True


def node_name(node: Any) -> str:
    """An autograd node's."""
    return str(node.name())


def node_inputs(node: Any) -> int:
    """How many nodes a node hands gradients on to."""
    return len(node.next_functions)


def manual_seed(seed: int) -> None:
    """Of every device's default generator."""
    from shim_torch import manual_seed

    manual_seed(seed)


def cpu_generator(seed: int) -> Any:
    """A new generator of the CPU, seeded."""
    from shim_torch import Generator

    return Generator().manual_seed(seed)


def set_seed(generator: Any, seed: int) -> None:
    """Seeds a generator."""
    generator.manual_seed(seed)


def set_num_threads(count: int) -> None:
    """Of the CPU's pool."""
    from shim_torch import set_num_threads

    set_num_threads(count)


def warn(text: str, deprecated: bool) -> None:
    """TORCH_WARN within ``torch::wrap_pybind_function``: a Python warning."""
    warnings.warn(text, DeprecationWarning if deprecated else UserWarning, stacklevel=2)


def same(value: Any) -> Any:
    """The value: its object is counted once more."""
    return value


def alias_of(one: Any, other: Any) -> bool:
    """Whether two tensors share their storage."""
    return bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())


def storage_data(storage: Any) -> int:
    """The address of a storage's bytes."""
    return int(storage.data_ptr())


def storage_bytes(storage: Any) -> int:
    """How many a storage has."""
    return int(storage.nbytes())


def set_storage(tensor: Any, storage: Any, offset: int, sizes: Any, strides: Any) -> None:
    """Of a tensor."""
    tensor.set_(storage, offset, tuple(sizes), tuple(strides))


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; tensors where all elements are."""
    return bool((one == other).all()) if hasattr(one, "untyped_storage") else bool(one == other)


def exclude_autocast(already: bool) -> bool:
    """Autocast is off until :func:`include_autocast`."""
    from shim_torch._impl.native import _core

    if not already:
        _autocast.append([_core.is_autocast_enabled(t) for t in ("cpu", "cuda")])
        for device in ("cpu", "cuda"):
            _core.set_autocast_enabled(device, False)
    return True


def include_autocast() -> None:
    """As it was before :func:`exclude_autocast`."""
    from shim_torch._impl.native import _core

    for device, on in zip(("cpu", "cuda"), _autocast.pop(), strict=True):
        _core.set_autocast_enabled(device, on)


_autocast: list[list[bool]] = []


def call_boxed(qualified: str, overload: str, arguments: Any) -> list[Any]:
    """An operator's results as a list."""
    import shim_torch

    namespace, _, name = qualified.partition("::")
    operator = getattr(getattr(getattr(shim_torch.ops, namespace), name), overload or "default")
    given = operator(*arguments)
    return [] if given is None else list(given) if isinstance(given, tuple) else [given]


def add_tags(namespace: str, schema: str, numbers: Any) -> None:
    """Tags of an operator that was defined by its schema's text."""
    import shim_torch

    name, _, overload = schema.partition("(")[0].rpartition("::")[2].partition(".")
    operator = getattr(getattr(getattr(shim_torch.ops, namespace), name), overload or "default")
    operator.tags = [shim_torch.Tag(n) for n in numbers]


def class_name(kind: str) -> str:
    """How schemas write the class of a C++ type."""
    from shim_torch._impl.extensions import cxx_classes

    return cxx_classes.of_kind(kind)._qualified


def define_class(namespace: str, name: str, doc: str, kind: str) -> None:
    """``torch::class_`` of a C++ type."""
    from shim_torch._impl.extensions import cxx_classes

    cxx_classes.define(namespace, name, doc, kind)


def define_member(what: str, kind: str, name: str, call: Any, schema: str, doc: str, names: Any, defaults: Any) -> None:
    """A constructor, method, static method, property's part or reader of a state, by `what`."""
    from shim_torch._impl.extensions import cxx_arguments, cxx_classes

    of = cxx_classes.of_kind(kind)
    method = cxx_classes.Method(call, cxx_arguments.parsed(schema, list(names), list(defaults)))
    if what == "init":
        shifted = [f"_{i + 1}" for i in range(len(method.signature.parameters))] if not names else []
        own = cxx_arguments.parsed(schema, shifted or list(names), list(defaults))
        me = cxx_arguments.Parameter("_0", of._qualified, cxx_arguments.MISSING)
        text = own.text.replace("(", f"({of._qualified} _0, " if own.parameters else f"({of._qualified} _0", 1)
        signature = own._replace(parameters=(me, *own.parameters), text=text.rpartition(" -> ")[0] + " -> NoneType _0")
        of._init = method._replace(signature=signature)
    elif what == "setstate":
        of._setstate = method
    elif what in ("get", "set"):
        of._properties.setdefault(name, {})[what] = method
    else:
        (of._statics if what == "static" else of._methods)[name] = method


_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "deterministic_algorithms": lambda torch: torch.are_deterministic_algorithms_enabled(),
    "cudnn_deterministic": lambda torch: torch.backends.cudnn.deterministic,
    "cudnn_benchmark": lambda torch: torch.backends.cudnn.benchmark,
    "allow_tf32": lambda torch: torch.backends.cuda.matmul.allow_tf32,
    "cuda_device_count": lambda torch: torch.cuda.device_count(),
}


def setting(name: str) -> int:
    """What the process is set to. Errors: KeyError for a name that there is none of."""
    import shim_torch

    return int(_SETTINGS[name](shim_torch))


def alert_not_deterministic(name: str) -> None:
    """Raises or warns where results that repeat were asked for, which this operation does not promise."""
    from shim_torch._impl.tensor import python_functions

    python_functions.alert_not_deterministic(name)
