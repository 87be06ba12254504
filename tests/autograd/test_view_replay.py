"""A view's way from its base, taken from another tensor, and back: _view_func_unsafe and _rev_view_func_unsafe."""

import pytest

import shim_torch as torch
from shim_torch._decomp import decomposition_table

VIEWS = {
    "view": lambda x: x.view(6, 2),
    "same": lambda x: x.view(3, 4),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x.select(0, 1),
    "expand": lambda x: x.unsqueeze(0).expand(5, 3, 4),
    "diagonal": lambda x: x.diagonal(),
    "transposed": lambda x: x.t(),
    "split": lambda x: x.split(2, 1)[1],
}
COMPLEX = {
    "conj": torch.conj,
    "real": torch.real,
    "imag": torch.imag,
    "view_as_real": torch.view_as_real,
    "part": lambda x: x.conj()[1:],
}


def metadata(t):
    return t.shape, t.stride(), t.storage_offset(), t.dtype, t.is_conj(), t.is_neg()


@pytest.mark.parametrize(
    ("make", "dtype"), [(f, torch.float32) for f in VIEWS.values()] + [(f, torch.complex64) for f in COMPLEX.values()]
)
def test_views_go_forth_and_back(make, dtype):
    with torch.autograd._force_original_view_tracking(True):
        base = torch.randn(3, 4, dtype=dtype)
        out = make(base)
        again = out._view_func_unsafe(base.clone())
        assert metadata(again) == metadata(out) and torch.equal(again, out)
        seen = out.detach()
        back = out._rev_view_func_unsafe(seen)
        assert metadata(back) == metadata(base) and torch.equal(back, base)
        assert back._is_view() and back._base is seen


def test_pairs_of_numbers_go_back_from_complex():
    base = torch.randn(3, 2)
    back = torch.view_as_complex(base)._rev_view_func_unsafe(torch.view_as_complex(base).detach())
    assert back.dtype == base.dtype and torch.equal(back, base)


def test_the_setting_is_a_decorator_too():
    before = torch._C._is_view_replay_enabled()

    @torch.autograd._force_original_view_tracking(True)
    def seen():
        return torch._C._is_view_replay_enabled()

    assert torch._C._is_view_replay_enabled() is before
    assert seen() is True and torch._C._is_view_replay_enabled() is before


def test_filling_is_not_decomposed_into_filling():
    table, called = decomposition_table, []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 3)
    with Watch():
        found = table[torch.ops.aten.fill.Scalar](x, 7)
        table[torch.ops.aten.fill_.Scalar](x, 5)
        of_tensor = table[torch.ops.aten.fill.Tensor](x, torch.tensor(2, dtype=torch.int64))
    assert found.tolist() == [[7.0] * 3] * 2 and x.tolist() == [[5.0] * 3] * 2 and of_tensor.tolist() == [[2.0] * 3] * 2
    assert called and not [name for name in called if name.startswith("aten.fill")]
