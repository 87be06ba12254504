"""``Transform``, its inverse, and what transforms of one kind share."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch.distributions import constraints


class Transform:
    """``t(x)``, ``t.inv(y)`` and ``t.log_abs_det_jacobian(x, y)``.

    A subclass gives ``domain``, ``codomain``, ``bijective``, ``_call`` and ``_inverse``. With ``cache_size=1`` the last
    pair is remembered, so that ``t.inv(t(x))`` is x itself.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dims the transform acts on together; ValueError where input and output differ in it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The function back; its ``inv`` is this one."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = self._new_inverse()
            self._inv = weakref.ref(inverse)
        return inverse

    def _new_inverse(self) -> Transform:
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where the function grows, -1 where it falls."""
        raise NotImplementedError

    def _arguments(self) -> tuple[Any, ...]:
        """What the transform was made with, cache_size aside: of equal transforms they are equal."""
        if type(self).__init__ is Transform.__init__:
            return ()
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with or without a memory of the last pair."""
        if self._cache_size == cache_size:
            return self
        make: Any = type(self)
        return make(*self._arguments(), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __call__(self, x: Any) -> Any:
        return self._remembered(self._call, x, 0)

    def _inv_call(self, y: Any) -> Any:
        return self._remembered(self._inverse, y, 1)

    def _remembered(self, function: Callable[[Any], Any], given: Any, side: int) -> Any:
        """``function(given)``; with a cache, the last pair's other half where ``given`` is its half ``side`` (0 for x)."""
        if not self._cache_size:
            return function(given)
        if given is self._cached_x_y[side]:
            return self._cached_x_y[1 - side]
        made = function(given)
        self._cached_x_y = (made, given) if side else (given, made)
        return made

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx| of each event, for a pair with y = t(x)."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of t(x) for x of a shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of t.inv(y) for y of a shape."""
        return shape

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"


class ByClass:
    """Mixed in by transforms that have no parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = object.__hash__


class Reshaping:
    """Mixed in by transforms that change the shape of an event: from ``_shape_after`` and ``_shape_before`` of one event."""

    domain: Any
    codomain: Any

    def _shape_after(self, *event: int) -> tuple[int, ...]:
        return event

    def _shape_before(self, *event: int) -> tuple[int, ...]:
        return event

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        return _with_event(shape, self.domain.event_dim, self._shape_after)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of ``shape``."""
        return _with_event(shape, self.codomain.event_dim, self._shape_before)


def _with_event(shape: Any, event_dim: int, change: Callable[..., tuple[int, ...]]) -> Any:
    if len(shape) < event_dim:
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - event_dim
    return shape[:cut] + change(*shape[cut:])


class _InverseTransform(Transform):
    """Another transform, backwards."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


naming.present(globals(), "torch.distributions.transforms")
