"""Tables of PyTorch's operators: overloads that are no records here, tags, decompositions, references."""

import importlib
import inspect
from collections import defaultdict

import torch

from ._ours import ask
from .words import lines_of

# These follow from a schema (shim_torch/_impl/table/aten_tags.py).
FOLLOWING = {"out", "inplace", "pt2_compliant_tag"}
# Composites here that handlers are shown the parts of: their results' sizes depend on the device, which a fake run sees in the parts.
IN_PARTS = {"_embedding_bag", "_embedding_bag_forward_only"}
REFERENCES = ("", "special", "nn.functional", "fft", "linalg", "_conversions")


def schemas():
    """By name (``add.Tensor``): the schema of each operator of the namespace aten that the dispatcher has."""
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if name.startswith("aten::") and name in dispatched:  # others are TorchScript's alone
            found[name.removeprefix("aten::")] = schema
    return found


def _overload(schema):
    packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
    return getattr(packet, schema.overload_name or "default")


def is_composed(name):
    """Whether PyTorch composes the operator of others at every level."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CompositeImplicitAutograd")


def is_leaf(name):
    """Whether ``__torch_dispatch__`` sees the operator in PyTorch: it has kernels, of its own or beside a composition."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return not is_composed(name) or has_kernel(f"aten::{name}", "CPU")


def overloads():
    """The schemas that no record of ours declares word for word."""
    ours = ask("schemas")
    lines = []
    for name, schema in schemas().items():
        text = str(schema)
        if ours.get(name) != text:
            lines.append(("~" if is_composed(name) else "") + text.removeprefix("aten::"))
    return "".join(line + "\n" for line in sorted(lines, key=lambda line: line.removeprefix("~")))


def tags():
    """The table of operators' tags, without those that follow from the schema."""
    found = defaultdict(list)
    for name, schema in schemas().items():
        for tag in _overload(schema).tags:
            if tag.name not in FOLLOWING:
                found[tag.name].append(name)
    head = "# PyTorch's tags of its operators, each with the names it is on; out, inplace and pt2_compliant_tag follow from the schema.\n"
    return head + "".join(f"{tag}:\n{lines_of(sorted(found[tag]), 128, '  ')}" for tag in sorted(found))


def decompositions():
    """The operators in the table of decompositions; ``~`` marks those that the core operators do not need."""
    from torch._decomp import core_aten_decompositions, decomposition_table

    core = core_aten_decompositions()
    operators = [op for op in decomposition_table if isinstance(op, torch._ops.OpOverload) and op.namespace == "aten"]
    shown = [
        ("" if op in core else "~") + op.name().removeprefix("aten::")
        for op in sorted(operators, key=lambda op: f"{op._opname}.{op._overloadname}")
    ]
    return lines_of(shown, 120)


def references():
    """``__all__`` of torch._refs, of its modules and of torch._prims, and the functions of the former that take ``out=``."""
    text = ""
    for name in REFERENCES:
        module = importlib.import_module("torch._refs" + (f".{name}" if name else ""))
        text += f"[{name or '.'}]\n" + lines_of(sorted(set(module.__all__)), 118)
        if writing := [n for n in dir(module) if n.strip("_") == n and _takes_out(module, n)]:
            text += f"[out {name or '.'}]\n" + lines_of(sorted(writing), 118)
    return text + "[prims]\n" + lines_of(sorted(set(importlib.import_module("torch._prims").__all__)), 118)


def _takes_out(module, name):
    function = getattr(module, name)
    own = inspect.isfunction(function) and function.__module__ == module.__name__
    return own and "out" in inspect.signature(function).parameters


def dispatch_leaves():
    """Composites here that PyTorch has as one operator; those of lists and of polynomials are known by their names."""
    known = schemas().keys() - IN_PARTS
    names = [n for n in ask("composites") if n in known and not n.startswith("_foreach_") and "_polynomial_" not in n]
    return lines_of(sorted(filter(is_leaf, names)), 120)


def later():
    """Names of our records that are defined at their first use, which must be there from the start."""
    head = "# What the families of LATER (shim_torch/_impl/table/operators.py) give torch, and the tensor.\n"
    return head + "".join(f"[{kind}]\n" + lines_of(sorted(set(names)), 118) for kind, names in ask("later").items())


FILES = {
    "shim_torch/_impl/data/later.txt": later,
    "shim_torch/_impl/data/aten_overloads.txt": overloads,
    "shim_torch/_impl/data/aten_tags.txt": tags,
    "shim_torch/_impl/data/dispatch_leaves.txt": dispatch_leaves,
    "shim_torch/_impl/data/decompositions.txt": decompositions,
    "shim_torch/_impl/data/refs.txt": references,
}
