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
    assert torch.jit.trace(f, 1) is f
    with pytest.raises(NotImplementedError, match="torch.jit.save"):
        torch.jit.save(f, "file")
