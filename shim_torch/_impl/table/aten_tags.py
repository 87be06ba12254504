"""The tags of PyTorch's own operators (``torch.ops.aten.add.Tensor.tags``)."""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.table.tags import Tag


@functools.cache
def _table() -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = defaultdict(list)
    tag = Tag.core
    for line in data.read("aten_tags.txt").splitlines()[1:]:
        if not line.startswith(" "):
            tag = Tag[line.removesuffix(":")]
            continue
        for name in line.split():
            found[name].append(tag)
    return found


def has(name: str, tag: Tag) -> bool:
    """Whether an overload of aten's operator ``name`` has the tag."""
    return name in _names_with(tag)


@functools.cache
def _names_with(tag: Tag) -> frozenset[str]:
    return frozenset(full.partition(".")[0] for full, tags in _table().items() if tag in tags)


def tags_of(overload: Any) -> list[Tag]:
    """The tags of an overload of the namespace aten, in the order of their numbers."""
    name = overload._name.removeprefix("aten::")
    tags = list(_table().get(name, ()))
    arguments = overload._schema.arguments
    written = [a for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    if any(a.kwarg_only for a in written):
        tags.append(Tag.out)
    if written and written[0] is arguments[0] and arguments[0].name == "self" and overload._opname.endswith("_"):
        tags.append(Tag.inplace)
    if not name.startswith(("quantized_lstm.", "quantized_gru.", "get_gradients")):
        tags.append(Tag.pt2_compliant_tag)
    return sorted(tags)
