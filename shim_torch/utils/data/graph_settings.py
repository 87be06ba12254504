"""``torch.utils.data.graph_settings``: settings of graphs of data pipes. There are no data pipes here."""

from __future__ import annotations

from typing import Any

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def _refuse(name: str) -> None:
    raise NotImplementedError(
        f"torch.utils.data.graph_settings.{name} is not supported by shim-torch: it has no data pipes"
    )


def get_all_graph_pipes(graph: Any) -> Any:
    _refuse("get_all_graph_pipes")


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    _refuse("apply_sharding")


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    _refuse("apply_shuffle_settings")


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    _refuse("apply_shuffle_seed")


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    _refuse("apply_random_seed")
