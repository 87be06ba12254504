"""``torch.compiler.disable``: the wrapper says what it is, as libraries ask (unsloth_zoo); it calls what it was given."""

import pytest

import shim_torch as torch
from shim_torch._dynamo import eval_frame


def plus(x, y=2):
    """Adds."""
    return x + y


def test_functions():
    for given in (torch.compiler.disable(plus, reason="slow"), torch._dynamo.disable(reason="slow")(plus)):
        assert given is not plus and given(1) == 3 and (given.__name__, given.__doc__) == ("plus", "Adds.")
        assert given._torchdynamo_disable and given._torchdynamo_disable_msg == "slow"
        assert given.__wrapped__ is given._torchdynamo_orig_callable is eval_frame.innermost_fn(given) is plus
    twice = torch.compiler.disable(torch.compiler.disable(plus), recursive=False)
    assert twice._torchdynamo_orig_callable is plus and twice._torchdynamo_disable_recursive is False
    assert not hasattr(plus, "_torchdynamo_disable")


def test_modules_and_classes():
    module = torch.nn.Linear(2, 3)
    given = torch.compiler.disable(module)
    assert isinstance(given, eval_frame.OptimizedModule) and given._orig_mod is module
    assert given._torchdynamo_orig_callable == module.forward and not hasattr(module, "_torchdynamo_orig_callable")
    assert given(torch.ones(1, 2)).shape == (1, 3)

    class Caller:
        def __call__(self):
            return 4

    assert torch.compiler.disable(Caller) is Caller and Caller()() == 4 and Caller.__call__._torchdynamo_disable


def test_what_cannot_be_called():
    with pytest.raises(AssertionError, match="fn must be callable"):
        torch.compiler.disable(3)
