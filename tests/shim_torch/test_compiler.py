"""torch.compiler, where nothing is compiled: what of it works all the same."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import shim_torch as torch


def test_default_backend() -> None:
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compiler.set_default_backend("eager")
    assert torch.compiler.get_default_backend() == "eager"
    torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_functions_of_arrays() -> None:
    @torch.compiler.wrap_numpy
    def both(a: np.ndarray, scale: float = 1.0) -> tuple[np.generic, dict[str, np.ndarray]]:
        """Doc."""
        assert isinstance(a, np.ndarray)
        return np.sum(a * a) * scale, {"next": a + 1}

    x = torch.arange(4.0)
    total, more = both(x, scale=2.0)
    assert both.__doc__ == "Doc."
    torch.testing.assert_close(total, torch.tensor(28.0), check_dtype=False)
    assert torch.equal(more["next"], x + 1)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        both(x.requires_grad_())


def test_guards_to_keep() -> None:
    guards = [
        SimpleNamespace(is_global=True, guard_type="ID_MATCH", value=0),
        SimpleNamespace(is_global=False, guard_type="TENSOR_MATCH", value=torch.ones(1)),
        SimpleNamespace(is_global=False, guard_type="TENSOR_MATCH", value=torch.nn.Parameter(torch.ones(1))),
    ]
    assert torch.compiler.skip_guard_on_globals_unsafe(guards) == [False, True, True]
    assert torch.compiler.keep_tensor_guards_unsafe(guards) == [False, True, False]
    assert torch.compiler.keep_tensor_guards_unsafe(guards, keep_parameters=True) == [False, True, True]
    assert torch.compiler.skip_all_guards_unsafe(guards) == [False] * 3


def test_autocast_by_hand() -> None:
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0
    was = torch.get_autocast_gpu_dtype()
    torch.set_autocast_gpu_dtype(torch.bfloat16)
    assert torch.get_autocast_dtype("cuda") == torch.bfloat16
    torch.set_autocast_gpu_dtype(was)
    torch.clear_autocast_cache()


def test_limits_are_the_classes_too() -> None:
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert isinstance(getattr(torch.finfo, name), property)
    with pytest.raises(AttributeError):
        torch.finfo(torch.float32).eps = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        torch.iinfo(torch.int8).max = 1  # type: ignore[misc]
    assert torch.iinfo(torch.uint8).max == 255 and torch.finfo(torch.float16).tiny == 2.0**-14


def test_compiler_tools():
    config = torch._inductor.config
    with config.patch(max_autotune=True):
        assert config.max_autotune
    assert not config.max_autotune
    from shim_torch._inductor.lowering import lowerings, register_lowering
    from shim_torch._inductor.runtime.benchmarking import benchmarker

    assert register_lowering(torch.ops.aten.add)(len) is len
    assert lowerings.pop(torch.ops.aten.add) is len
    assert benchmarker.benchmark_cpu(lambda: sum(range(100)), warmup=1, rep=2) > 0
    with pytest.raises(NotImplementedError, match="torch.export.export"):
        torch.export.export(None, ())
    importlib.import_module("shim_torch._higher_order_ops.while_loop")  # the package's function stays what it is
    assert torch._higher_order_ops.while_loop(lambda i: i < 5, lambda i: (i + 2,), (0,)) == (6,)
    assert torch.cond(torch.tensor(True), lambda: 1, lambda: 2) == 1
    f = torch._dynamo.eval_frame.innermost_fn
    assert f(len) is len
