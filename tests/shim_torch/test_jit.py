"""torch.jit: functions stay what they are."""

import pytest

import shim_torch as torch


def test_jit_leaves_functions_alone():
    @torch.jit.script
    def f(x):
        return x + 1 if torch.jit.is_scripting() else x

    assert f(3) == 3
    assert torch.jit.annotate(int, 4) == 4
    assert torch.jit.isinstance([1], list[int])
    assert not torch.jit.isinstance(["a"], list[int])
    assert torch.jit.ignore(drop=True)(f) is f
    with pytest.raises(NotImplementedError, match="torch.jit.save"):
        torch.jit.save(f, "file")


def test_what_is_no_function_is_refused():
    with pytest.raises(RuntimeError, match="Expected a single top-level function: .*test_jit.py:"):
        torch.jit.script(lambda x: x)
    with pytest.raises(TypeError, match="<class 'int'> is a built-in class"):
        torch.jit.script(1)


def test_tracing_is_refused_unless_torchscript_is_switched_off(monkeypatch):
    for trace in (torch.jit.trace, torch.jit.trace_module):
        with pytest.raises(NotImplementedError, match=f"torch.jit.{trace.__name__} is not supported by shim-torch"):
            trace(abs, (torch.ones(1),))
    monkeypatch.setattr(torch.jit, "_enabled", False)
    assert torch.jit.trace(abs, (torch.ones(1),)) is abs
