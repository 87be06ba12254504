"""What functional tensors share: a value, the writes to it that are still to be taken in, and the views that lead from it."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.transforms.view_inverses import INVERSES


class View:
    """One step from a base to a view of it: the operator, its further arguments, and which of its results."""

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], index: int | None) -> None:
        self.func, self.args, self.kwargs, self.index = func, args, kwargs, index

    def __call__(self, base: Any) -> Any:
        found = self.func(base, *self.args, **self.kwargs)
        return found if self.index is None else found[self.index]

    def undo(self, base: Any, value: Any) -> Any:
        """The base with the view's place holding ``value``."""
        name = self.func._schema.name.removeprefix("aten::")
        rule = INVERSES.get(f"{name}.{self.func._overloadname}") or INVERSES.get(name.removesuffix("_copy"))
        if rule is None:
            raise NotImplementedError(f"torch.func.functionalize: a write to a view by {self.func} is not supported")
        return rule(base, value, self.index, *self.args, **self.kwargs)


class Storage:
    """What tensors share: its value, and the writes that it has not taken in yet."""

    def __init__(self, value: Any) -> None:
        self.value, self.version = value, 0
        self.writes: list[tuple[list[View], Any]] = []
        self.changed = False

    def write(self, views: list[View], value: Any) -> None:
        """Notes that what the views lead to now is ``value``."""
        self.writes.append((views, value))
        self.version += 1
        self.changed = True

    def settle(self) -> None:
        """Takes the writes in, in their order."""
        writes, self.writes = self.writes, []
        for views, value in writes:
            steps = [self.value]
            for view in views[:-1]:
                steps.append(view(steps[-1]))
            for view, base in zip(reversed(views), reversed(steps), strict=True) if views else ():
                value = view.undo(base, value)
            self.value = value
