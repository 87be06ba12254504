"""What runs in a loader's worker process."""

from __future__ import annotations

import random
from typing import Any


class WorkerInfo:
    """Which worker this process is: id, num_workers, seed, dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, key: str, value: Any) -> None:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"


_worker_info: WorkerInfo | None = None
RESUME = "resume"


def get_worker_info() -> WorkerInfo | None:
    """This worker's WorkerInfo; None in the main process."""
    return _worker_info


class Failure:
    """An exception on its way to the main process."""

    def __init__(self, worker: int) -> None:
        import sys
        import traceback

        kind, value, trace = sys.exc_info()
        assert kind is not None
        self.kind, self.text, self.worker = kind, "".join(traceback.format_exception(kind, value, trace)), worker

    def reraise(self) -> None:
        """Raises it again with the worker's traceback in its text."""
        message = f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\nOriginal {self.text}"
        try:
            error = self.kind(message)
        except TypeError:
            raise RuntimeError(message) from None
        raise error


class End:
    """An iterable data set of a worker is at its end."""


def run(
    make_fetcher: Any, tasks: Any, results: Any, worker: int, count: int, seed: int, dataset: Any, init: Any
) -> None:
    """Answers (number, keys) tasks with (number, worker, batch) until it gets None."""
    global _worker_info
    import numpy as np

    import shim_torch
    from shim_torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
    from shim_torch.utils.data.graph_settings import apply_random_seed, apply_sharding

    shim_torch.set_num_threads(1)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    shim_torch.manual_seed(seed)
    _worker_info = WorkerInfo(id=worker, num_workers=count, seed=seed, dataset=dataset)
    if isinstance(dataset, (IterDataPipe, MapDataPipe)):  # the same draws in each worker, then its part of the items
        apply_random_seed(dataset, shim_torch.Generator().manual_seed(seed - worker))
        apply_sharding(dataset, count, worker)
    fetcher, failure = None, None
    try:
        if init is not None:
            init(worker)
        fetcher = make_fetcher(dataset)
    except Exception:
        failure = Failure(worker)
    while (task := tasks.get()) is not None:
        if task == RESUME:
            try:
                fetcher = fetcher if failure is not None else make_fetcher(dataset)
            except Exception:
                fetcher, failure = None, Failure(worker)
            continue
        number, keys = task
        result: Any
        try:
            result = failure if fetcher is None else fetcher.fetch(keys)
        except StopIteration:
            result = End()
        except Exception:
            result = Failure(worker)
        results.put((number, worker, _packed(result, worker)))


def _packed(result: Any, worker: int) -> bytes:
    """Pickled here: a queue only prints the error of what it can't pickle, and the batch would be missed forever."""
    from multiprocessing.reduction import ForkingPickler

    try:
        return bytes(ForkingPickler.dumps(result))
    except Exception:
        return bytes(ForkingPickler.dumps(Failure(worker)))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four 32-bit numbers that seed NumPy in a worker: other ones for every seed and worker."""
    import numpy as np

    seeds = np.random.SeedSequence((worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32 & 0xFFFFFFFF))
    return seeds.generate_state(4).tolist()
