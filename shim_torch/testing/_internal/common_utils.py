"""``torch.testing._internal.common_utils``: PyTorch's TestCase, its decorators and flags."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import shim_torch
from shim_torch._impl.testing import flags
from shim_torch._impl.testing.flags import *  # noqa: F403
from shim_torch._impl.testing.parametrized import instantiate_parametrized_tests, parametrize, subtest
from shim_torch._impl.testing.relaxed import PAIRS
from shim_torch.autograd import gradcheck, gradgradcheck
from shim_torch.testing import make_tensor
from shim_torch.testing._comparison import not_close_error_metas

__all__ = [
    *(name for name in vars(flags) if name.isupper()),
    "NoTest", "TemporaryDirectoryName", "TemporaryFileName", "TestCase", "freeze_rng_state", "gradcheck",
    "gradgradcheck", "instantiate_parametrized_tests", "load_tests", "make_tensor", "numpy_to_torch_dtype_dict",
    "parametrize", "run_tests", "set_default_dtype", "set_rng_seed", "skipIfCrossRef", "skipIfNoSciPy", "skipIfRocm",
    "skipIfTorchDynamo", "skipIfTorchInductor", "slowTest", "subtest", "suppress_warnings", "torch_to_numpy_dtype_dict",
]  # fmt: skip

SEED = 1234
NoTest = object

_DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
numpy_to_torch_dtype_dict = {getattr(np, n if n != "bool" else "bool_"): getattr(shim_torch, n) for n in _DTYPES}
torch_to_numpy_dtype_dict = {t: n for n, t in numpy_to_torch_dtype_dict.items()}
torch_to_numpy_dtype_dict.update({shim_torch.bfloat16: np.float32, shim_torch.complex32: np.complex64})


def numpy_to_torch_dtype(np_dtype: Any) -> Any:
    """The dtype of a NumPy dtype or scalar type."""
    return numpy_to_torch_dtype_dict[np.dtype(np_dtype).type]


class TestCase(unittest.TestCase):
    """unittest's, with tensors in ``assertEqual`` and the same random numbers in every test."""

    precision: float = 0
    rel_tol: float = 0
    maxDiff = None

    def setUp(self) -> None:
        """Seeds all generators of random numbers."""
        set_rng_seed(SEED)

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: str | Callable[[str], str] | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Tensors, arrays, numbers and nested sequences and mappings of them, within the dtype's tolerances."""
        __tracebackhide__ = True
        if isinstance(x, shim_torch.Tensor) and isinstance(y, Sequence) and not isinstance(y, str):
            y = shim_torch.as_tensor(y, dtype=x.dtype, device=x.device)
        elif isinstance(y, shim_torch.Tensor) and isinstance(x, Sequence) and not isinstance(x, str):
            x = shim_torch.as_tensor(x, dtype=y.dtype, device=y.device)
        if isinstance(x, (str, bytes)) and isinstance(y, (str, bytes)):
            return super().assertEqual(x, y, msg if isinstance(msg, str) else None)
        if atol is not None or rtol is not None:
            atol, rtol = atol or 0.0, rtol or 0.0
        metas = not_close_error_metas(
            x,
            y,
            pair_types=self._pairs(),
            sequence_types=(Sequence, shim_torch.nn.ParameterList) if not isinstance(x, np.ndarray) else (Sequence,),
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            check_device=exact_device,
            check_dtype=exact_dtype,
            check_layout=exact_layout,
            check_stride=exact_stride,
        )
        if metas:
            text = metas[0].to_error().args[0]
            raise metas[0].to_error(msg if callable(msg) else f"{text}\n{msg}" if msg else None)
        return None

    def _pairs(self) -> tuple[type, ...]:
        return PAIRS

    def assertNotEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        msg: str | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        **options: Any,
    ) -> None:
        """The reverse of ``assertEqual``."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **options)

    def assertEqualIgnoreType(self, *args: Any, **options: Any) -> None:
        """``assertEqual`` of any dtypes."""
        self.assertEqual(*args, exact_dtype=False, **options)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """Same dtype on the same kind of device."""
        self.assertEqual(x.device, y.device)
        self.assertEqual(x.dtype, y.dtype)

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **options: Any) -> None:
        """``y`` is broadcast to ``x``."""
        y = shim_torch.as_tensor(y, dtype=x.dtype)
        self.assertEqual(x, y.expand_as(x), *args, **options)

    def assertObjectIn(self, obj: Any, iterable: Any) -> None:
        """``obj`` itself is one of the items."""
        if not any(item is obj for item in iterable):
            raise AssertionError("object not found in iterable")

    def assertExpectedRaises(self, kind: type[Exception], function: Callable, *args: Any, **kwargs: Any) -> None:
        """The call raises ``kind``."""
        self.assertRaises(kind, function, *args, **kwargs)

    def compare_with_numpy(
        self,
        torch_fn: Callable,
        np_fn: Callable,
        tensor_like: Any,
        device: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        """``assertEqual`` of both functions' results on one input."""
        t = shim_torch.as_tensor(tensor_like, device=device, dtype=dtype)
        array = t.detach().cpu().float().numpy() if t.dtype == shim_torch.bfloat16 else t.detach().cpu().numpy()
        self.assertEqual(torch_fn(t).cpu(), np_fn(array), exact_dtype=False, **options)

    @contextlib.contextmanager
    def maybeWarnsRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """No warnings but ones like this."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not issubclass(warning.category, category):
                raise AssertionError(f"Caught unexpected warnings: {warning.message}")

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """A warning that is given once in a process otherwise."""
        before = shim_torch.is_warn_always_enabled()
        shim_torch.set_warn_always(True)
        try:
            with self.assertWarnsRegex(category, regex):
                yield
        finally:
            shim_torch.set_warn_always(before)


def run_tests(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of the calling script."""
    unittest.main(argv=list(argv) if argv else None)


def load_tests(loader: Any, tests: Any, pattern: Any) -> Any:
    """The tests as they are: unittest's protocol for modules."""
    return tests


def set_rng_seed(seed: int | None = None) -> None:
    """Seeds torch, random and NumPy."""
    seed = SEED if seed is None else seed
    shim_torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Random state is as before afterwards."""
    state = shim_torch.get_rng_state()
    cuda = shim_torch.cuda.get_rng_state() if flags.TEST_CUDA else None
    try:
        yield
    finally:
        shim_torch.set_rng_state(state)
        if cuda is not None:
            shim_torch.cuda.set_rng_state(cuda)


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """``torch.get_default_dtype()`` is ``dtype`` inside."""
    before = shim_torch.get_default_dtype()
    shim_torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        shim_torch.set_default_dtype(before)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is removed afterwards."""
    handle, name = tempfile.mkstemp(*args, **{k: v for k, v in kwargs.items() if k in ("suffix", "prefix", "dir")})
    os.close(handle)
    try:
        yield name
    finally:
        os.unlink(name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of a directory that is removed afterwards."""
    name = tempfile.mkdtemp(suffix=suffix)
    try:
        yield name
    finally:
        shutil.rmtree(name, ignore_errors=True)


def suppress_warnings(fn: Callable) -> Callable:
    """No warnings of the test are shown."""

    @functools.wraps(fn)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)

    return quiet


def slowTest(fn: Callable) -> Callable:
    """Runs with PYTORCH_TEST_WITH_SLOW=1 only."""
    return unittest.skipUnless(flags.TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")(fn)


def skipIfNoSciPy(fn: Callable) -> Callable:
    """Needs SciPy."""
    return unittest.skipUnless(flags.TEST_SCIPY, "test require SciPy, but SciPy not found")(fn)


def _never(fn: Any = None, **options: Any) -> Any:
    return fn if callable(fn) else lambda f: f


# Nothing of these is here: ROCm, the tracing compilers, PyTorch's cross-reference mode.
skipIfRocm = skipIfRocmArch = skipIfTorchDynamo = skipIfTorchInductor = skipIfCrossRef = skipIfMPS = skipIfXpu = _never
xfailIfTorchDynamo = markDynamoStrictTest = unMarkDynamoStrictTest = _never


def dtype_name(dtype: Any) -> str:
    """``float32`` of ``torch.float32``."""
    return str(dtype).split(".")[1]


def is_iterable_of_tensors(value: Any, include_empty: bool = False) -> bool:
    """Whether all items are tensors."""
    if isinstance(value, shim_torch.Tensor) or not hasattr(value, "__iter__"):
        return False
    items = list(value)
    return include_empty if not items else all(isinstance(x, shim_torch.Tensor) for x in items)
