"""Operators as functions: wrong arguments get the errors of torch's functions, which name function and argument."""

from __future__ import annotations

from typing import Any

from native import _core


class _Operators:
    def __getattr__(self, name: str) -> Any:
        function = _core.function(f"aten::{name}", "torch._C._nn")
        setattr(self, name, function)
        return function


operators = _Operators()
