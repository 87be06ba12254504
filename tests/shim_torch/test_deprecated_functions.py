"""Functions that PyTorch keeps and warns of, and small rules of reductions; values and texts of PyTorch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import shim_torch as torch


@pytest.fixture(autouse=True)
def always():
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda a: torch.cholesky(a), "torch.cholesky is deprecated in favor of torch.linalg.cholesky"),
        (lambda a: torch.qr(a), "torch.qr is deprecated in favor of torch.linalg.qr"),
        (lambda a: torch.triangular_solve(a, a), "torch.triangular_solve is deprecated"),
        (lambda a: torch.chain_matmul(a, a), "torch.chain_matmul is deprecated"),
        (lambda a: torch.lu(a), "torch.lu is deprecated in favor of torch.linalg.lu_factor"),
        (lambda a: torch.ones(2, 3, 4).T, "The use of `x.T` on tensors of dimension other than 2"),
        (lambda a: torch.ones(4).resize(2, 2), "non-inplace resize is deprecated"),
    ],
)
def test_a_deprecated_function_says_so(call, text: str) -> None:
    with pytest.warns(UserWarning, match=text.split("(")[0]) as found:
        call(torch.eye(2) * 2)
    assert found[0].filename == __file__  # it points at the code that called


def test_the_newer_functions_do_not_warn() -> None:
    a = torch.eye(2) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.linalg.cholesky(a), torch.linalg.qr(a), torch.linalg.lu_factor(a), a.T, torch.linalg.inv(a), torch.det(a)


def test_a_quantile_of_nan_has_its_gradient_there() -> None:
    for q in (0.5, 0.0):
        x = torch.tensor([1.0, float("nan"), 2.0], requires_grad=True)
        torch.quantile(x, q).backward()
        assert x.grad.tolist() == [0, 1, 0]
    x = torch.tensor([1.0, float("nan"), 2.0], requires_grad=True)
    torch.nanquantile(x, 0.5).backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]
    assert torch.quantile(torch.tensor([[1.0, 3.0], [float("nan"), 2.0]]), 0.5, 1)[0] == 2


def test_histograms_check_their_bins() -> None:
    x = torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="bins tensor should have one dimension, but got 2 dimensions"):
        torch.histogram(x, torch.ones(1, 1))
    with pytest.raises(RuntimeError, match="bins tensor should have at least 1 element, but got 0 elements"):
        torch.histogram(x, torch.ones(0))
    with pytest.raises(RuntimeError, match=r"but got input\(float\), and weight\(double\)"):
        torch.histogram(x, 1, weight=x.double())


def test_the_older_name_of_autocast_for_the_cpu() -> None:
    with pytest.warns(FutureWarning, match=r"torch.cpu.amp.autocast\(args...\)` is deprecated"):
        context = torch.cpu.amp.autocast()
    with context:
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.bfloat16


@pytest.fixture
def warned_of_storages() -> Iterator[None]:
    """The warning of typed storages is due, and not due again for other tests."""
    torch.storage._reset_warn_typed_storage_removal()
    yield
    torch.storage._set_always_warn_typed_storage_removal(False)


@pytest.mark.usefixtures("warned_of_storages")
def test_typed_storages_are_deprecated() -> None:
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as found:
        s = torch.FloatStorage([1.0, 2.0])
        torch.ones(2).storage()
    assert [Path(w.filename).name for w in found] == [Path(__file__).name]  # once, and where it is used
    torch.storage._set_always_warn_typed_storage_removal(True)
    for use in (
        lambda: torch.FloatStorage.dtype,
        lambda: s[0],
        s.untyped,
        lambda: len(s),
        lambda: s.is_cuda,
        lambda: s.fill_(0),
        lambda: isinstance(s, torch.FloatStorage),
    ):
        with pytest.warns(UserWarning, match="TypedStorage is deprecated") as found:
            use()
        assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.save(torch.ones(2), io.BytesIO())  # what is our own use of them says nothing
        assert not isinstance(torch.ones(2), torch.FloatStorage)  # nor a question of something else


def test_complex_halves_are_experimental() -> None:
    for make in (
        torch.ones,
        torch.randn,
        lambda n, dtype: torch.empty_strided((n,), (1,), dtype=dtype),
        lambda n, dtype: torch.ones(n).to(dtype),
    ):
        with pytest.warns(UserWarning, match="ComplexHalf support is experimental") as found:
            make(3, dtype=torch.chalf)
        assert [w.filename for w in found] == [__file__]
    torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ones(3, dtype=torch.chalf)


def test_words_of_numpy_for_tensors() -> None:
    x = torch.ones(2)
    assert torch.sum(a=x).item() == torch.sum(x1=x).item() == torch.sum(x=x, axis=0, keepdims=True).item() == 2
    assert torch.maximum(x1=x, x2=x + 1).tolist() == torch.matmul(a=x[:, None], x2=x[None]).sum(0).tolist() == [2, 2]


@pytest.mark.usefixtures("warned_of_storages")
def test_more_deprecated_forms() -> None:
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as found:
        torch.ones(2).storage()
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="please use reduction=.sum. instead"):
        torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), size_average=False)
    with pytest.warns(FutureWarning, match="torch.cuda.amp.GradScaler"):
        torch.cuda.amp.GradScaler(enabled=False)


def test_check_tensor_all_and_removed_functions():
    torch._check_tensor_all(torch.tensor([True]))
    with pytest.raises(RuntimeError, match="told"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "told")
    with pytest.raises(TypeError, match="cond tensor must have dtype torch.bool, but got torch.float32"):
        torch._check_tensor_all(torch.ones(1))
    torch._check_with(KeyError, True)
    torch._check_tensor_all_with(KeyError, torch.tensor([True]))
    with pytest.raises(KeyError, match="told"):
        torch._check_tensor_all_with(KeyError, torch.tensor([True, False]), lambda: "told")
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        torch._check_with(KeyError, 1)
    with pytest.raises(RuntimeError, match="This function was deprecated since version 1.9 and is now removed"):
        torch.ones(2, 2).symeig()
