"""``torch.optim._multi_tensor``: the optimizers over whole lists of parameters (``foreach=True``)."""

from functools import partialmethod
from typing import Any

from shim_torch import optim


def partialclass(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A sub-class whose constructor has these arguments already."""
    return type("NewCls", (cls,), {"__init__": partialmethod(cls.__init__, *args, **kwargs), "__module__": __name__})


Adam, AdamW, NAdam, SGD, RAdam, RMSprop, Rprop, ASGD, Adamax, Adadelta, Adagrad = (
    partialclass(getattr(optim, name), foreach=True)
    for name in "Adam AdamW NAdam SGD RAdam RMSprop Rprop ASGD Adamax Adadelta Adagrad".split()
)
