"""PowerSGD (Vogels and others, 2019, arXiv:1905.13727): matrices of gradients are sent as products of two thin ones.

A matrix M (plus what was lost of it in the steps before) becomes P = M·Q, P is averaged and made orthonormal, Q = Mᵀ·P is averaged, and
P·Qᵀ stands for the mean. Q of one step begins the next.
"""

from __future__ import annotations

import math
from typing import Any

from shim_torch import Generator, distributed, linalg, randn

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hooks keep. ``matrix_approximation_rank``: the thin matrices' columns; ``start_powerSGD_iter``: the steps before it are
    averaged whole; ``min_compression_rate``: a matrix is sent thin if that makes it this many times smaller.

    Errors: ValueError for a rank below 1, and for a start before step 2 with error feedback or warm start; NotImplementedError for
    ``batch_tensors_with_same_shape``.
    """

    def __init__(
        self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
        orthogonalization_epsilon: float = 0, random_seed: int = 0, compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only "
                "be applied after the first two iterations in DDP."
            )
        if batch_tensors_with_same_shape:
            raise NotImplementedError(
                "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook: batch_tensors_with_same_shape is not supported by shim-torch"
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon, self.random_seed = orthogonalization_epsilon, random_seed
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.error_dict: dict[Any, Any] = {}  # of a matrix: what its thin form has lost so far
        self.q_memory_dict: dict[Any, Any] = {}
        self._drawn = Generator().manual_seed(random_seed)

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step when its last bucket comes."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """(how many times less was sent, numbers before, numbers sent)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after

    def _thin(self, key: Any, matrix: Any) -> Any:
        """The Q that a matrix begins with: the last step's, or one that is the same in each process."""
        if self.warm_start and key in self.q_memory_dict:
            return self.q_memory_dict[key]
        columns = min(*matrix.shape, self.matrix_approximation_rank)
        return randn(matrix.shape[1], columns, generator=self._drawn).to(matrix.device, matrix.dtype)

    def _orthonormal(self, matrix: Any) -> Any:
        return linalg.qr(matrix.float() + self.orthogonalization_epsilon)[0].to(matrix.dtype)

    def _mean(self, tensors: list[Any]) -> list[Any]:
        """Of tensors of one dtype, sent as one."""
        from shim_torch import cat

        if not tensors:
            return []
        flat = cat([t.reshape(-1) for t in tensors])
        self.total_numel_after_compression += flat.numel()
        flat.div_(distributed.get_world_size(self.process_group))
        distributed.all_reduce(flat, group=self.process_group)
        return [part.view(t.shape) for part, t in zip(flat.split([t.numel() for t in tensors]), tensors, strict=True)]

    def _approximated(self, matrices: dict[Any, Any]) -> dict[Any, Any]:
        """The means of matrices, as products."""
        given = matrices
        if self.use_error_feedback:
            given = {k: m + self.error_dict[k] if k in self.error_dict else m for k, m in matrices.items()}
        qs = {k: self._orthonormal(self._thin(k, m)) for k, m in given.items()}
        ps = [self._orthonormal(p) for p in self._mean([m @ qs[k] for k, m in given.items()])]
        means = self._mean([m.t() @ p for m, p in zip(given.values(), ps, strict=True)])
        found = {k: p @ q.t() for k, p, q in zip(given, ps, means, strict=True)}
        if self.use_error_feedback:
            self.error_dict |= {k: m - found[k] for k, m in given.items()}
        if self.warm_start:
            self.q_memory_dict |= dict(zip(given, means, strict=True))
        return found


def _done(value: Any) -> Any:
    from shim_torch.futures import Future

    future: Any = Future()
    future.set_result(value)
    return future


def _whole(state: PowerSGDState, bucket: Any) -> Any:
    from shim_torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    return allreduce_hook(state.process_group, bucket)


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """The mean, of matrices that are worth it as a product of thin ones. Gives a future of the bucket's new values."""
    whole = state.iter < state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    if whole:
        return _whole(state, bucket)
    flat, parts = bucket.buffer(), bucket.gradients()
    state.total_numel_before_compression += flat.numel()
    matrices, rest = {}, []
    for number, part in enumerate(parts):
        rows, columns = part.shape[0] if part.dim() else 1, math.prod(part.shape[1:])
        sent = (rows + columns) * state.matrix_approximation_rank * state.min_compression_rate
        if part.dim() > 1 and sent < rows * columns:
            matrices[bucket.index(), number] = part.view(rows, columns)
        else:
            rest.append(part)
    for part, mean in zip(rest, state._mean(rest), strict=True):
        part.copy_(mean)
    for key, mean in state._approximated(matrices).items():
        matrices[key].copy_(mean)
    return _done(flat)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """The mean of the whole bucket as one square matrix, as a product of thin ones."""
    whole = state.iter < state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    if whole:
        return _whole(state, bucket)
    flat = bucket.buffer()
    state.total_numel_before_compression += flat.numel()
    side = math.isqrt(flat.numel() - 1) + 1
    square = flat.new_zeros(side * side)
    square[: flat.numel()] = flat
    key = bucket.index(), -1
    mean = state._approximated({key: square.view(side, side)})[key]
    return _done(flat.copy_(mean.view(-1)[: flat.numel()]))
