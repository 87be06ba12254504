"""``copy.deepcopy`` of real tensors, giving fake ones."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.tensor.torch_function import DisableTorchFunctionSubclass
from shim_torch.overrides import TorchFunctionMode


class FakeCopyMode(TorchFunctionMode):
    """Within it, ``copy.deepcopy`` of real tensors gives fake ones."""

    def __init__(self, fake_mode: Any) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "clone" and args:
            return func(self.fake_mode.from_tensor(args[0]), **kwargs)
        if name == "__deepcopy__":
            tensor, memo = args[0], args[1]
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)


naming.present(globals(), "torch._subclasses.fake_tensor")
