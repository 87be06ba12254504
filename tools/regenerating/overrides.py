"""The functions that PyTorch documents as not overridable by ``__torch_function__``."""

import types

import torch
from torch.overrides import get_ignored_functions

from .words import lines_of

# Where torch.overrides looks for functions; of torch.functional only what it exports.
SPACES = {
    "": torch,
    "functional.": torch.functional,
    "nn.functional.": torch.nn.functional,
    "nn.init.": torch.nn.init,
    "Tensor.": torch.Tensor,
    "linalg.": torch.linalg,
    "fft.": torch.fft,
    "special.": torch.special,
}


def _is_ignored(value, ignored):
    try:
        return callable(value) and value in ignored
    except TypeError:  # no hash
        return False


def not_overridable():
    """The functions that PyTorch lists as ignored by ``__torch_function__``, by qualified name."""
    ignored = {f for f in get_ignored_functions() if callable(f)}
    names = set()
    for prefix, space in SPACES.items():
        for name in space.__all__ if space is torch.functional else dir(space):
            value = getattr(space, name, None)
            if isinstance(value, types.ModuleType) or name in vars(object) and value == getattr(object, name):
                continue
            if _is_ignored(value, ignored):
                names.add(prefix + name)
            elif not callable(value) and _is_ignored(getattr(value, "__get__", None), ignored):
                names.add(f"{prefix}{name}.__get__")
    head = "# Functions that PyTorch documents as not overridable by __torch_function__ (torch.overrides.get_ignored_functions), below torch.\n"
    return head + lines_of(sorted(names), 118)


FILES = {"shim_torch/_impl/data/not_overridable.txt": not_overridable}
