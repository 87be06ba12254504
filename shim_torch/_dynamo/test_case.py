"""``torch._dynamo.test_case``: the base class of tests of compiled functions, on that of PyTorch's own tests."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

_support: Any = import_module("torch.testing._internal.common_utils")  # comes with a test suite, not with this package


def run_tests(needs: str | tuple[str, ...] = ()) -> None:
    """Runs the tests of ``__main__`` where every package in ``needs`` ("cuda": a GPU) is there."""
    import shim_torch

    for need in (needs,) if isinstance(needs, str) else needs:
        if need == "cuda":
            if not shim_torch.cuda.is_available():
                return
            continue
        try:
            import_module(need)
        except ImportError:
            return
    _support.run_tests()


class TestCase(_support.TestCase):  # type: ignore[misc]
    """A test whose changes of ``torch._dynamo.config`` end with it; whether gradients are recorded is kept, too."""

    _exit_stack: contextlib.ExitStack

    @classmethod
    def setUpClass(cls) -> None:
        """Sets the compiler's settings for the class's tests."""
        from shim_torch._dynamo import config

        settings: Any = config
        super().setUpClass()
        cls._exit_stack = contextlib.ExitStack()
        cls._exit_stack.enter_context(settings.patch(raise_on_ctx_manager_usage=True, suppress_errors=False))

    @classmethod
    def tearDownClass(cls) -> None:
        """Restores the compiler's settings."""
        cls._exit_stack.close()
        super().tearDownClass()

    def setUp(self) -> None:
        """Resets the compiler, and keeps the gradient mode."""
        import shim_torch
        from shim_torch._dynamo import reset, utils

        self._prior_is_grad_enabled = shim_torch.is_grad_enabled()
        super().setUp()
        reset()
        utils.counters.clear()

    def tearDown(self) -> None:
        """Resets the compiler, and restores the gradient mode."""
        import shim_torch
        from shim_torch._dynamo import reset, utils

        reset()
        utils.counters.clear()
        super().tearDown()
        shim_torch.set_grad_enabled(self._prior_is_grad_enabled)
