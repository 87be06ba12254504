"""The base classes of pipes, the names their steps have as methods, and batches."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from shim_torch.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
C = TypeVar("C", bound=type)


class _Functional:
    """``pipe.name(...)`` is the class registered as ``name``, given the pipe as its first argument."""

    functions: ClassVar[dict[str, type]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "functions" not in vars(cls) and not hasattr(cls, "functions"):
            cls.functions = {}

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return str(type(self).__qualname__)

    __str__ = __repr__

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Makes a function a method of every pipe of this kind."""
        cls.functions[function_name] = function  # type: ignore[assignment]

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type) -> None:
        """Makes a class a method of every pipe of this kind. Errors: Exception when the name is taken."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Functional, IterableDataset[T_co]):
    """Items one after another. One iterator at a time: a new one ends the older ones."""

    functions: ClassVar[dict[str, type]] = {}
    _valid_iterator_id = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        made = vars(cls).get("__iter__")
        if made is not None:
            cls.__iter__ = _single(made)  # type: ignore[method-assign]

    def reset(self) -> None:
        """Called when a new iterator begins; nothing unless overridden."""


def _single(made: Callable[..., Any]) -> Callable[..., Any]:
    """``__iter__`` whose iterator says so when a newer one has been made."""

    @functools.wraps(made)
    def begin(self: Any) -> Iterator[Any]:
        if type(self).__iter__ is not begin:  # a subclass goes on from here
            return made(self)  # type: ignore[no-any-return]
        self._valid_iterator_id = mine = self._valid_iterator_id + 1
        self.reset()
        found = made(self)
        return follow(self, found if hasattr(found, "__next__") else iter(found), mine)

    def follow(self: Any, items: Iterator[Any], mine: int) -> Iterator[Any]:
        while True:  # not iter(items): a pipe may be its own iterator
            try:
                item = items.__next__()
            except StopIteration:
                return
            if self._valid_iterator_id != mine:
                raise RuntimeError(
                    "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                    f"{self!r}\nThis may be caused multiple references to the same IterDataPipe. We recommend using `.fork()` if "
                    "that is necessary."
                )
            yield item

    return begin


class MapDataPipe(_Functional, Dataset[T_co]):
    """Items by key."""

    functions: ClassVar[dict[str, type]] = {}


class DFIterDataPipe(IterDataPipe[T_co]):
    """Items that are data frames."""


class DataChunk(list[T]):
    """A batch: a list that remembers its items."""

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The elements in brackets, after ``indent``."""
        return indent + "[" + ", ".join(str(i) for i in iter(self)) + "]"

    def raw_iterator(self) -> Iterator[T]:
        """The items themselves."""
        yield from self.items


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[C], C]:
    """A class decorator: pipes of the class's kind get it as the method ``name``.

    Errors: TypeError for what is no pipe; Exception when the name is taken.
    """

    def register(cls: C) -> C:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(name, cls)  # type: ignore[attr-defined]
                return cls
        raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")

    return register


class Batched:
    """What pipes of batches of either kind have in common."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def batches_of(self, n: int) -> int:
        """How many batches ``n`` items make."""
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def several(datapipes: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    """The pipes. Errors: ValueError where there is none, TypeError where one is of another kind."""
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(d, kind) for d in datapipes):
        raise TypeError(f"Expected all inputs to be `{kind.__name__}`")
    return datapipes


class _DataPipeSerializationWrapper:
    """A pipe that travels to workers as bytes: pickle's, or dill's where pickle cannot and dill is installed."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> tuple[bytes, bool]:
        try:
            return pickle.dumps(self._datapipe), False
        except Exception:
            try:
                import dill
            except ImportError:
                dill = None
            if dill is None:
                raise
            return dill.dumps(self._datapipe), True

    def __setstate__(self, state: tuple[bytes, bool]) -> None:
        data, by_dill = state
        if by_dill:
            import dill

            self._datapipe = dill.loads(data)
        else:
            self._datapipe = pickle.loads(data)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as e:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from e


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    def __init__(self, datapipe: Any) -> None:
        super().__init__(datapipe)
        self._datapipe_iter: Iterator[Any] | None = None

    def __iter__(self) -> Any:
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self) -> Any:
        if self._datapipe_iter is None:
            raise AssertionError("Iterator has not been initialized; call __iter__() before __next__()")
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]
