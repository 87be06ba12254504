"""``torch.quasirandom``: Sobol sequences, points that fill the unit cube evenly.

The direction numbers (Joe and Kuo's) are a table of 21201 dimensions, which SciPy carries: without SciPy there is dimension 1 only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["SobolEngine"]

_BITS = 30


@lru_cache(maxsize=1)
def _table() -> tuple[Any, Any]:
    """(polynomials, initial numbers) by dimension."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("scipy")
    file = spec and spec.origin and Path(spec.origin).parent / "stats" / "_sobol_direction_numbers.npz"
    if not file or not file.exists():
        raise NotImplementedError(
            "torch.quasirandom.SobolEngine of more than one dimension: shim-torch reads the direction numbers from SciPy, which is "
            "not here; install scipy"
        )
    with np.load(file) as numbers:
        return numbers["poly"].astype(np.int64), numbers["vinit"].astype(np.int64)


def _directions(dimension: int) -> Any:
    """The direction numbers, (dimension, 30) of int64: the i-th one's highest bit is bit 29 - i."""
    found = np.ones((dimension, _BITS), np.int64)
    if dimension > 1:
        polynomials, initial = (part[:dimension] for part in _table())
        degrees = np.array([int(p).bit_length() - 1 for p in polynomials])
        degrees[0] = 0
        for degree in range(1, int(degrees.max()) + 1):
            rows = np.flatnonzero(degrees == degree)
            v = np.zeros((len(rows), _BITS), np.int64)
            v[:, :degree] = initial[rows, :degree]
            for i in range(degree, _BITS):
                v[:, i] = v[:, i - degree]
                for k in range(degree):
                    used = (polynomials[rows] >> (degree - 1 - k)) & 1
                    v[:, i] ^= used * (v[:, i - k - 1] << (k + 1))
            found[rows] = v
    return found << np.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """A Sobol sequence of ``dimension`` numbers a point, from 1 to 21201; ``draw`` gives the next points.

    scramble: a random linear scramble and shift (Owen's, of matrices) by ``seed``, from this package's own generator, so that the
    scrambled numbers differ from PyTorch's. ValueError for another dimension.
    """

    MAXBIT = _BITS
    MAXDIM = 21201
    quasi: Any
    num_generated: int

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        import shim_torch as torch

        self.dimension, self.seed, self.scramble = dimension, seed, scramble
        self.sobolstate = torch.from_numpy(_directions(dimension))
        self.shift = torch.zeros(dimension, dtype=torch.int64, device="cpu")
        if scramble:
            self._scramble()
        self.reset()

    def _scramble(self) -> None:
        import shim_torch as torch

        generator = None
        if self.seed is not None:
            generator = torch.Generator(device="cpu")
            generator.manual_seed(self.seed)
        n = self.MAXBIT
        shift = torch.randint(2, (self.dimension, n), device="cpu", generator=generator)
        self.shift = (shift * 2 ** torch.arange(n, device="cpu")).sum(1)
        lower = torch.randint(2, (self.dimension, n, n), device="cpu", generator=generator).numpy()
        lower = np.tril(lower, -1) + np.eye(n, dtype=lower.dtype)
        places = np.arange(n - 1, -1, -1)
        bits = (self.sobolstate.numpy()[:, None, :] >> places[None, :, None]) & 1
        self.sobolstate = torch.from_numpy(((lower @ bits % 2) << places[None, :, None]).sum(1))

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next ``n`` points, (n, dimension), of ``dtype`` (the default one if None)."""
        import shim_torch as torch

        points = torch.from_numpy(self._next(n)).to(dtype or torch.get_default_dtype()) * 2.0**-self.MAXBIT
        return points if out is None else out.resize_as_(points).copy_(points)

    def _next(self, n: int) -> Any:
        """The next ``n`` points in units of 2**-30, in the order of the Gray code: each is one direction number from the last."""
        import shim_torch as torch

        before = np.arange(self.num_generated - 1, self.num_generated - 1 + n)
        lowest_zero = np.array([(~int(i) & int(i) + 1).bit_length() - 1 for i in before], np.int64)
        # The first point is the start itself: for -1, which has no zero bit, the row of zeros at the end.
        steps = np.pad(self.sobolstate.numpy().T, ((0, 1), (0, 0)))[lowest_zero]
        points = np.bitwise_xor.accumulate(np.concatenate((self.quasi.numpy()[None], steps)))[1:]
        if n > 0:
            self.quasi = torch.from_numpy(points[-1].copy())
        self.num_generated += n
        return points

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2**m points; ValueError unless as many in all are a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require "
                f"n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out ``n`` points."""
        self._next(n)
        return self

    def __repr__(self) -> str:
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join(text)})"
