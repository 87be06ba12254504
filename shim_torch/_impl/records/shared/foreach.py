"""One operation over lists of tensors: how ``torch._foreach_*`` are declared, and what PyTorch checks of their lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}


def check_lists(first: Any, *others: Any) -> None:
    """RuntimeError unless all lists have as many tensors, at least one."""
    for other in others:
        if len(other) != len(first):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")


def check_scalars(first: Any, scalars: Any) -> None:
    """RuntimeError unless there is a number for each tensor."""
    check_lists(first)
    if len(scalars) != len(first):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def check_scalar_tensor(scalar: Any) -> None:
    """RuntimeError unless a tensor is one number."""
    if scalar.dim() or scalar.numel() != 1:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {scalar.dim()} dimensions and {scalar.numel()} elements."
        )


# The pointwise kernel, its operands after the first (None where numbers are), the numbers.
Launch = tuple[str, tuple[Any, ...], Any]


def _on_cuda(launch: Callable[..., Launch], in_place: bool, self: Any, rest: tuple[Any, ...]) -> Any:
    """All tensors in few launches; None where they are not on CUDA, or differ in what one kernel needs to be the same."""
    if not self[0].is_cuda:
        return None
    name, others, numbers = launch(*rest)
    return _core.cuda_each(name, in_place, self, others, numbers)


def of_each(
    run: Callable[..., Any], check: Callable[..., None], launch: Callable[..., Launch], write: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functional body and the in-place one, of each tensor with its share of the others: ``run`` and ``write``."""

    def functional(self: Any, *rest: Any) -> Any:
        check(self, *rest)
        found = _on_cuda(launch, False, self, rest)
        if found is not None:
            return found
        return tuple(run(t, *(r[i] if isinstance(r, (list, tuple)) else r for r in rest)) for i, t in enumerate(self))

    def in_place(self: Any, *rest: Any) -> Any:
        check(self, *rest)
        if _on_cuda(launch, True, self, rest) is not None:
            return self
        for i, t in enumerate(self):
            write(t, *(r[i] if isinstance(r, (list, tuple)) else r for r in rest))
        return self

    return functional, in_place


def materialized(name: str, in_place: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch does not write lists of conjugate tensors."""

    def body(self: Any, *rest: Any) -> Any:
        if any(t.is_conj() for t in self):
            raise RuntimeError(
                " fallback doesn't currently support mutable TensorLists with conjugate inputs. Please materialize all the conjugate "
                f"input tensor(s) in the mutable TensorList inputs before calling aten::_foreach_{name}_"
            )
        return in_place(self, *rest)

    return body


def declare_both(
    name: str,
    overload: str,
    rest: str,
    run: Callable[..., Any],
    check: Callable[..., None],
    launch: Callable[..., Launch],
    write: Callable[..., Any],
) -> None:
    """Declares an overload and its in-place form."""
    functional, in_place = of_each(run, check, launch, write)
    dot = f".{overload}" if overload else ""
    comma = f", {rest}" if rest else ""
    composite(f"_foreach_{name}{dot}(Tensor[] self{comma}) -> Tensor[]", **_METHODLESS)(functional)
    writing = materialized(name, in_place)
    composite(f"_foreach_{name}_{dot}(Tensor(a!)[] self{comma}) -> ()", **_METHODLESS)(writing)


def check_with_list(self: Any, other: Any, *_: Any) -> None:
    """Checks the lists of an operator whose second argument is a list of tensors."""
    check_lists(self, other)


def check_alone(self: Any, *_: Any) -> None:
    """Checks the list of an operator whose other arguments are numbers."""
    check_lists(self)


def check_with_tensor(self: Any, other: Any, *_: Any) -> None:
    """Checks the list of an operator whose second argument is a tensor of one number."""
    check_lists(self)
    check_scalar_tensor(other)


def check_with_lists(self: Any, *others: Any) -> None:
    """Checks the lists of an operator; numbers among the arguments are passed over."""
    check_lists(self, *(o for o in others if isinstance(o, list)))


def check_pair_scalars(self: Any, first: Any, *rest: Any) -> None:
    """Checks lists of tensors and, last, a number for each of them."""
    check_lists(self, first, *rest[:-1])
    check_scalars(self, rest[-1])
