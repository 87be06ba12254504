"""Small modules that test suites and libraries import beside the operators: each does what PyTorch's does."""

from __future__ import annotations

import pickle
import sys
import types
import unittest
import warnings

import numpy as np
import pytest

import shim_torch as torch


def test_stacks():
    from shim_torch.utils._traceback import CapturedTraceback, format_frame, format_traceback_short, shorten_filename

    def inner():
        return CapturedTraceback.extract(), CapturedTraceback.extract(skip=1)

    whole, outer = inner()
    assert whole.summary()[-1].name == "inner" and outer.summary()[-1].name == "test_stacks"
    assert whole.format() == CapturedTraceback.format_all([whole])[0] and "in inner" in whole.format()[-1]
    assert pickle.loads(pickle.dumps(whole)).summary() == []
    whole.cleanup()
    assert whole.format() == []
    try:
        raise ValueError
    except ValueError as error:
        short = format_traceback_short(error.__traceback__)
    assert short.endswith(" in test_stacks") and ":" in short and "\n" not in short
    assert shorten_filename("/a/b/c.py", base="/a") == "b/c.py"
    assert format_frame(outer.summary()[-1], base="/").endswith(" in test_stacks")


def test_source_of_made_code():
    from shim_torch.utils._traceback import report_compile_source_on_error

    source = "def f(x):\n    y = 1\n    raise RuntimeError(x)\n"
    scope = {"__compile_source__": source}
    exec(source, scope)
    with pytest.raises(RuntimeError, match="seen") as caught, report_compile_source_on_error():
        scope["f"]("seen")
    lines = [str(e).rstrip() for e in caught.traceback[-1].frame.code.fullsource or ()]
    assert caught.traceback[-1].lineno == 2 and any("raise RuntimeError(x)" in line for line in lines)


def test_linalg_utils():
    from shim_torch import _linalg_utils as u

    a, x = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    torch.testing.assert_close(u.bform(x, a, x), x.T @ a @ x)
    torch.testing.assert_close(u.qform(None, x), x.T @ x)
    torch.testing.assert_close(u.matmul(a.to_sparse(), x), a @ x)
    q = u.basis(x)
    torch.testing.assert_close(q.T @ q, torch.eye(2, dtype=torch.float64))
    values, vectors = u.symeig(a + a.T, largest=True)
    assert values.tolist() == sorted(values.tolist(), reverse=True)
    torch.testing.assert_close((a + a.T) @ vectors, vectors * values)
    assert u.get_floating_dtype(torch.ones(1, dtype=torch.int32)) == torch.float32
    assert u.is_sparse(a.to_sparse()) and not u.is_sparse(a)
    with pytest.raises(TypeError, match="expected Tensor but got"):
        u.is_sparse(3)
    with pytest.raises(RuntimeError, match="now removed"):
        u.solve(a, a)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])
def test_associative_scan(n, reverse):
    from shim_torch._higher_order_ops.associative_scan import associative_scan

    x = torch.randn(2, n, 3, dtype=torch.float64)
    found = associative_scan(lambda a, b: a * b, x, dim=1, reverse=reverse)
    want = x.flip(1).cumprod(1).flip(1) if reverse else x.cumprod(1)
    torch.testing.assert_close(found, want)
    # Not commutative: matrices; and a nest of tensors: y[i] = a[i] y[i-1] + b[i].
    m = torch.randn(n, 2, 2, dtype=torch.float64)
    found = associative_scan(lambda a, b: a @ b, m, dim=0, combine_mode="generic")
    want = m[0]
    for i in range(n):
        want = want @ m[i] if i else want
        torch.testing.assert_close(found[i], want)
    pair = {"a": torch.rand(n, dtype=torch.float64), "b": torch.randn(n, dtype=torch.float64)}
    found = associative_scan(lambda p, q: {"a": p["a"] * q["a"], "b": q["a"] * p["b"] + q["b"]}, pair, dim=0)
    y = 0.0
    for i in range(n):
        y = float(pair["a"][i]) * y + float(pair["b"][i])
        assert float(found["b"][i]) == pytest.approx(y)


def test_scan():
    from shim_torch._higher_order_ops.scan import scan

    x = torch.arange(1.0, 5.0).requires_grad_()
    last, all_ = scan(lambda c, v: (c + v, c * v), torch.zeros(()), x)
    assert last.item() == 10 and all_.tolist() == [0, 2, 9, 24]
    last.backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    last, all_ = scan(lambda c, v: (c + v, c + 0), torch.zeros(2), torch.ones(2, 3), dim=1, reverse=True)
    assert last.tolist() == [3, 3] and all_.tolist() == [[2, 2], [1, 1], [0, 0]]
    with pytest.raises(RuntimeError, match="Combine_fn must be a callable"):
        scan(3, x, x)
    with pytest.raises(ValueError, match="at least one input tensor"):
        scan(lambda c, v: (c, v), x, [])


def test_boolean_dispatch():
    from shim_torch import _jit_internal as j

    def yes(x, flag=False):
        """Says which."""
        return "yes", x

    def no(x, flag=False):
        return "no", x

    f = j.boolean_dispatch("flag", 1, False, yes, no, "somewhere", "f")
    assert f(1) == ("no", 1) and f(1, True) == ("yes", 1) and f(1, flag=True) == ("yes", 1)
    assert f.__doc__ == "Says which." == no.__doc__ and (f.__name__, f.__module__) == ("f", "somewhere")
    with pytest.raises(RuntimeError, match="only one function can have a docstring"):
        j.boolean_dispatch("flag", 1, False, yes, no, None, None)

    @torch.jit.unused
    def g():
        return 3

    @torch.jit.ignore(drop=True)
    def h():
        return 4

    assert j.is_ignored_fn(g) and j.is_ignored_fn(h) and not j.is_ignored_fn(test_scan) and g() + h() == 7
    assert j.is_optional(int | None) and j.is_union(int | str) and not j.is_optional(int | str)
    assert (
        j.is_list(list[int]) and j.is_dict(dict[str, int]) and j.is_tuple(tuple[int, str]) and j.is_final(j.Final[int])
    )
    with pytest.raises(RuntimeError, match="without a contained type"):
        j.is_list(list)


def test_guards():
    from shim_torch._C._dynamo import guards

    x = torch.empty_strided((2, 3), (1, 2))
    guards.assert_size_stride(x, (2, 3), (1, 2))
    with pytest.raises(AssertionError, match="expected size 3==4"):
        guards.assert_size_stride(x, (2, 4), (1, 2))
    with pytest.raises(AssertionError, match="stride 2==3 at dim=1"):
        guards.assert_size_stride(x, (2, 3), (1, 3))
    with pytest.raises(AssertionError, match="wrong number of dimensions"):
        guards.assert_size_stride(x, (6,), (1,))
    guards.assert_size_stride(torch.empty(1, 3), (1, 3), (77, 1))
    guards.assert_alignment(x, 16)
    with pytest.raises(AssertionError, match="16 bytes aligned"):
        guards.assert_alignment(torch.empty(5)[1:], 16)
    y = torch.arange(6)
    assert guards._reinterpret_tensor(y, (2, 2), (2, 1), 1).tolist() == [[1, 2], [3, 4]]
    assert guards._empty_strided_cpu((2, 3), (1, 2), torch.int8).stride() == (1, 2)


def test_settings_with_variables(monkeypatch):
    from shim_torch.utils._config_module import Config, install_config_module

    monkeypatch.setenv("SETTING_TRUE", "1")
    monkeypatch.setenv("SETTING_TEXT", "text")
    module = types.ModuleType("settings_of_a_test")
    module.plain = 3
    module.of_variable = Config(default=False, env_name_default="SETTING_TRUE")
    module.forced = Config(default="no", env_name_force=["SETTING_NONE", "SETTING_TEXT"])
    module.old = Config(alias="settings_of_a_test.plain", deprecated=True, deprecation_message="use plain")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    install_config_module(module)
    assert (module.plain, module.of_variable, module.forced) == (3, True, "text")
    with pytest.warns(FutureWarning, match="old is deprecated and use plain"):
        assert module.old == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.old = 4
    assert module.plain == 4
    with module.patch(of_variable=False):
        assert module.of_variable is False
    assert module.of_variable is True
    module.forced = "other"
    assert module.forced == "text", "what forces wins"
    with pytest.raises(AssertionError, match="if alias is set"):
        Config(default=1, alias="a.b")


def test_settings_of_test_classes(monkeypatch):
    from shim_torch.utils._config_module import install_config_module

    module = types.ModuleType("settings_of_tests")
    module.plain = 3
    monkeypatch.setitem(sys.modules, module.__name__, module)
    install_config_module(module)
    seen = []

    class Case(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            seen.append((cls, "up", module.plain))

        @classmethod
        def tearDownClass(cls):
            seen.append((cls, "down", module.plain))
            raise KeyError("down")

    made = module.patch(plain=7)(Case)
    assert issubclass(made, Case) and made is not Case and (made.__name__, made.__module__) == ("Case", __name__)
    made.setUpClass()
    assert module.plain == 7
    with pytest.raises(KeyError, match="down"):
        made.tearDownClass()
    assert module.plain == 3 and seen == [(made, "up", 7), (made, "down", 7)]
    Case.setUpClass = classmethod(lambda cls: {}["up"])
    with pytest.raises(KeyError, match="up"):
        made.setUpClass()
    assert module.plain == 3

    @module.patch(plain=8)
    class Other:
        def __init__(self):
            self.seen = module.plain

    assert Other().seen == 8 and module.plain == 3  # called as a function is


def test_rearrange():
    from shim_torch._impl.surface.functorch.einops import rearrange

    x = torch.arange(24).reshape(2, 3, 4)
    n = x.numpy()
    assert rearrange(x, "a b c -> c a b").tolist() == n.transpose(2, 0, 1).tolist()
    assert rearrange(x, "a b c -> (a c) b").tolist() == n.transpose(0, 2, 1).reshape(8, 3).tolist()
    split = n.reshape(2, 3, 2, 2).transpose(2, 0, 1, 3)
    assert rearrange(x, "a b (h d) -> h a b d", h=2).tolist() == split.tolist()
    assert rearrange(x, "a ... -> ... a").tolist() == np.moveaxis(n, 0, -1).tolist()
    assert rearrange(x, "a ... -> a (...)").tolist() == n.reshape(2, 12).tolist()
    assert rearrange(x, "a b c -> a 1 b c 1").shape == (2, 1, 3, 4, 1)
    assert rearrange(x[:1], "1 b c -> b c").shape == (3, 4)
    assert rearrange([x, x + 1], "n a b c -> a n (b c)").shape == (2, 2, 12)
    y = torch.randn(2, 6, requires_grad=True)
    rearrange(y, "a (b c) -> b a c", b=3).sum().backward()
    assert y.grad.eq(1).all()
    for pattern, sizes in (("a b -> a b", {}), ("a b c -> a b", {}), ("a (b d) c -> a b d c", {"b": 2}), ("a b c", {})):
        with pytest.raises(ValueError):
            rearrange(x, pattern, **sizes)


def test_typename():
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor" and torch.typename(3) == "int"
    assert torch.typename(torch.nn.Linear) == torch.typename(torch.nn.Linear(1, 1)) == "torch.nn.modules.linear.Linear"
    assert torch.typename(len) == "len" and torch.typename(torch.nn.functional.dropout) == "torch.nn.functional.dropout"


def test_counts():
    from shim_torch.utils import _stats

    @_stats.count
    def f():
        return 1

    before = _stats.simple_call_counter.get(f.__qualname__, 0)
    assert f() + f() == 2 and _stats.simple_call_counter[f.__qualname__] == before + 2
