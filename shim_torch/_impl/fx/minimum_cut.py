"""The cheapest set of nodes that separates a source from a sink: Edmonds and Karp's augmenting paths."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from typing import Any

SOURCE, SINK = "source", "sink"
INFINITE = float("inf")


class Network:
    """Capacities between points; ``minimum_cut`` says which points the source still reaches when all is cut."""

    def __init__(self) -> None:
        self.left: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)

    def connect(self, start: Hashable, end: Hashable, capacity: float) -> None:
        """An edge; a second one between the same points adds its capacity."""
        self.left[start][end] = self.left[start].get(end, 0) + capacity
        self.left[end].setdefault(start, 0)

    def _reached(self) -> dict[Hashable, Any]:
        """The points that the source reaches through capacity that is left, each with the point before it."""
        before: dict[Hashable, Any] = {SOURCE: None}
        waiting = deque([SOURCE])
        while waiting and SINK not in before:
            point: Any = waiting.popleft()
            for following, capacity in self.left[point].items():
                if capacity > 0 and following not in before:
                    before[following] = point
                    waiting.append(following)  # type: ignore[arg-type]
        return before

    def minimum_cut(self) -> set[Hashable]:
        """The points on the source's side of a cut of least capacity.

        Errors: RuntimeError where only edges of infinite capacity lead from the source to the sink.
        """
        while SINK in (before := self._reached()):
            path = []
            point: Any = SINK
            while before[point] is not None:
                path.append((before[point], point))
                point = before[point]
            least = min(self.left[start][end] for start, end in path)
            if least == INFINITE:
                raise RuntimeError("no set of values separates forward from backward")
            for start, end in path:
                self.left[start][end] -= least
                self.left[end][start] += least
        return set(before)
