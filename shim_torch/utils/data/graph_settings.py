"""``torch.utils.data.graph_settings``: shuffling, seeds and parts of workers, for all pipes that a pipe is made of."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from shim_torch._impl.utils.seeds import drawn_seed
from shim_torch.utils.data.graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: dict[int, tuple[Any, Any]]) -> list[Any]:
    """Every pipe of what ``traverse_dps`` gave, once."""
    found: dict[int, Any] = {}
    waiting = list(graph.items())
    while waiting:
        key, (pipe, below) = waiting.pop(0)
        if key not in found:
            found[key] = pipe
            waiting.extend(below.items())
    return list(found.values())


def _pipes(datapipe: Any) -> list[Any]:
    return get_all_graph_pipes(traverse_dps(datapipe))


def _has(pipe: Any, *methods: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in methods)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Tells the pipes that take a part of the items which part: the ``instance_id``-th of ``num_of_instances``.

    Errors: RuntimeError where one such pipe stands before another, which would take a part of a part.
    """

    waiting: list[tuple[tuple[Any, Any], Any]] = [(node, None) for node in traverse_dps(datapipe).values()]
    for (pipe, below), taker in waiting:  # grows while it is gone through
        if _has(pipe, "apply_sharding"):
            if taker is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding already "
                    f"applied to {taker} while trying to apply to {pipe}"
                )
            known = len(inspect.signature(pipe.apply_sharding).parameters)  # pipes of users may not know of groups
            pipe.apply_sharding(*(num_of_instances, instance_id, sharding_group)[: max(known, 2)])
            taker = pipe
        waiting += [(node, taker) for node in below.values()]
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the pipes that shuffle on or off; None leaves them. One is added, with a warning, where there is none to switch on."""
    pipes = [] if shuffle is None else _pipes(datapipe)
    shufflers = [pipe for pipe in pipes if _has(pipe, "set_shuffle", "set_seed")]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    if shufflers or not shuffle:
        return datapipe
    warnings.warn(
        "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the "
        "default buffer size might not be sufficient for your task.",
        stacklevel=2,
    )
    return datapipe.shuffle()  # which is on from the start


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The older name of :func:`apply_random_seed`."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases.\nPlease use "
        "`apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Seeds the pipes that draw, each with a number of ``rng``, a ``torch.Generator``."""
    for pipe in _pipes(datapipe):
        if _has(pipe, "set_seed"):
            pipe.set_seed(drawn_seed(rng))
    return datapipe


def seeded(datapipe: Any, seed: Any) -> Any:
    """The pipe whose draws all follow from one seed, the same in every process that is given it."""
    import shim_torch

    return apply_random_seed(datapipe, shim_torch.Generator().manual_seed(seed))


def process_group() -> tuple[int, int]:
    """How many processes share the data, and which of them this one is."""
    from shim_torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size(), distributed.get_rank()
    return 1, 0
