"""torch.futures as PyTorch's: what callbacks raise, errors, pickling."""

import pickle

import pytest

import shim_torch as torch
from shim_torch.futures import Future, collect_all, wait_all


def _bad(_):
    raise ValueError("Expected error")


def _done(value=1):
    made = Future()
    made.set_result(value)
    return made


def test_then_gives_what_the_callback_raised_with_where():
    made = _done().then(_bad)
    assert made.done()
    with pytest.raises(
        RuntimeError, match="Got the following error when running the callback: ValueError: Expected error\n\nAt:\n"
    ) as e:
        made.wait()
    assert "_bad" in str(e.value)
    with pytest.raises(RuntimeError, match="takes 0 positional arguments but 1 was given"):
        _done().then(lambda: 1).wait()


def test_done_callbacks_only_report(capsys):
    future = Future()
    future.add_done_callback(_bad)
    future.set_result(3)
    future.add_done_callback(_bad)
    assert future.wait() == 3
    assert capsys.readouterr().err.count("ValueError: Expected error") == 2


def test_an_exception_is_a_result():
    future = Future()
    future.set_exception(KeyError("a"))
    for ask in (future.wait, future.value, collect_all([_done(), future]).wait):
        with pytest.raises(KeyError, match="a"):
            ask()
    assert future.then(lambda _: 3).wait() == 3
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(1)
    with pytest.raises(AssertionError, match="3 is of type <class 'int'>, not an Exception."):
        future.set_exception(3)


def test_none_is_no_future():
    for ask in (lambda: torch.jit.wait(None), lambda: wait_all((None,)), lambda: collect_all((_done(), None))):
        with pytest.raises(RuntimeError, match="Future can't be None"):
            ask()
    assert wait_all([]) == []


def test_no_pickling_and_what_callbacks_must_be():
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(_done())
    with pytest.raises(TypeError, match=r"then\(\): incompatible function arguments"):
        _done().then(None)
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])


def test_fork_runs_at_once():
    forked = torch.jit.fork(lambda a, b=1: a + b, 3, b=4)
    assert isinstance(forked, torch.jit.Future)
    assert torch.jit.wait(forked) == 7 == forked.wait()
    with pytest.raises(TypeError, match=r"wait\(\): incompatible function arguments"):
        torch.jit.wait(3)


def test_futures():
    future = torch.futures.Future()
    after = future.then(lambda f: f.value() + 1)
    assert not after.done()
    future.set_result(3)
    assert after.wait() == 4
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(4)
    failing = torch.futures.Future()
    failing.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failing.wait()
    assert torch.futures.wait_all([future, after]) == [3, 4]
