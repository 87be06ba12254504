"""torch.utils.deterministic.fill_uninitialized_memory, and other settings that are checked."""

import pytest

import shim_torch as torch


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int16, torch.uint8, torch.bool]
)
def test_empty_tensors_have_a_fixed_value(deterministic, dtype):
    like = torch.zeros(3, 4, dtype=dtype)
    made = [
        torch.empty(3, 4, dtype=dtype), torch.empty_like(like), torch.empty_like(like.t()), like.new_empty(5),
        torch.empty_strided((3, 4), (1, 3), dtype=dtype), torch.empty_permuted((2, 3), (1, 0), dtype=dtype),
    ]  # fmt: skip
    for t in made:
        if dtype.is_floating_point or dtype.is_complex:
            assert t.isnan().all()
        else:
            assert (t == (True if dtype is torch.bool else torch.iinfo(dtype).max)).all()
    assert not torch.zeros_like(like).any() and torch.ones_like(like).sum() == 12


def test_memory_that_resize_adds(deterministic):
    t = torch.zeros(2, 2, dtype=torch.int32)
    t.resize_(3, 2)
    assert t.tolist() == [[0, 0], [0, 0], [2**31 - 1] * 2]


def test_the_switch(deterministic):
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert not torch._C._get_deterministic_fill_uninitialized_memory()
    torch._C._set_deterministic_fill_uninitialized_memory(True)
    assert torch.utils.deterministic.fill_uninitialized_memory is True
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        torch.utils.deterministic.fill_uninitialized_memory = 1


def test_dim_order_of_ambiguous_tensors():
    t = torch.empty(1, 2, 3, 4)
    assert t.dim_order() == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        t.dim_order(ambiguity_check=True)
    assert t.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1, 2, 3)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        t.dim_order(ambiguity_check="unique")
    assert torch.empty(2, 3, 4, 5).permute(0, 2, 3, 1).dim_order(ambiguity_check=True) == (0, 3, 1, 2)


@pytest.mark.parametrize("set_threads", [torch.set_num_threads, torch.set_num_interop_threads])
@pytest.mark.parametrize("count", [-1, 2**65])
def test_counts_of_threads_that_cannot_be(set_threads, count):
    with pytest.raises((RuntimeError, ValueError), match="positive integer|Overflow when unpacking long long"):
        set_threads(count)


def test_index_add_of_a_source_of_more_dims():
    for sizes in ((1,), (1, 1, 1)):
        with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
            torch.zeros(()).index_add(0, torch.tensor([0]), torch.ones(sizes))
    assert torch.zeros(()).index_add(0, torch.tensor([0]), torch.ones(())).item() == 1


def test_both_branches_of_cond():
    from shim_torch._higher_order_ops.cond import cond_op

    for pred, wanted in ((torch.tensor(True), 3.0), (False, 1.0)):
        made = torch.cond(pred, lambda x: x + 1, lambda x: x - 1, (torch.tensor(2.0),))
        assert made == cond_op(pred, lambda x: x + 1, lambda x: x - 1, (torch.tensor(2.0),)) == wanted


def test_deterministic_modes():
    try:
        torch.set_deterministic_debug_mode("warn")
        assert torch.get_deterministic_debug_mode() == 1 and torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(False, warn_only=True)
        assert (
            not torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
        )
        with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 5"):
            torch.set_deterministic_debug_mode(5)
        with pytest.raises(TypeError, match=r"debug_mode must be str or int, but got <class 'list'>"):
            torch.set_deterministic_debug_mode([])
        with pytest.raises(TypeError, match="must be bool, not int"):
            torch.use_deterministic_algorithms(1)
    finally:
        torch.use_deterministic_algorithms(False)


def test_deterministic_alerts():
    from shim_torch._prims_common import alert_not_deterministic

    alert_not_deterministic("f")
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(
            RuntimeError, match=r"f does not have a deterministic implementation, but you set 'torch\.use"
        ):
            alert_not_deterministic("f")
        torch.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="f does not have a deterministic implementation"):
            alert_not_deterministic("f")
    finally:
        torch.use_deterministic_algorithms(False)
