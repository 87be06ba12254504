"""Methods and functions that are no operators take their arguments by PyTorch's signatures, with its texts where they do not fit."""

import pytest

import shim_torch as torch


class Wrapper(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)


X = torch.zeros(2, 3)
REFUSED = [
    (lambda: torch.promote_types(torch.int8), 'promote_types() missing 1 required positional arguments: "type2"'),
    (lambda: torch.can_cast(torch.int8, 3), "can_cast(): argument 'to' (position 2) must be torch.dtype, not int"),
    (lambda: X.requires_grad_(1), "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not int"),
    (lambda: X.requires_grad_(x=1), "requires_grad_() got an unexpected keyword argument 'x'"),
    (lambda: X.backward(x=1), "Tensor.backward() got an unexpected keyword argument 'x'"),
    (lambda: X.is_pinned("cpu", 2), "is_pinned() takes from 0 to 1 positional arguments but 2 were given"),
    (lambda: X.is_pinned(1.5), "is_pinned(): argument 'device' (position 1) must be torch.device, not float"),
    (lambda: X.polygamma(True), "polygamma(): argument 'n' (position 1) must be int, not bool"),
    (lambda: X.polygamma(1.5), "polygamma(): argument 'n' (position 1) must be int, not float"),
    (lambda: torch.unique(X, 1), "_unique2(): argument 'sorted' must be bool, not int"),
    (lambda: torch.unique(X, dim=True), "unique_dim(): argument 'dim' (position 2) must be int, not bool"),
    (lambda: torch.unique_consecutive(X, dim="a"), "unique_consecutive(): argument 'dim' must be int, not str"),
    (lambda: torch.unique_consecutive(X, 1), "unique_consecutive(): argument 'return_inverse' must be bool, not int"),
    (lambda: torch.get_device(3), "get_device(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda: torch.is_conj(3), "is_conj(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda: torch.is_neg(None), "is_neg(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda: torch.is_inference("a"), "is_inference(): argument 'input' (position 1) must be Tensor, not str"),
    (lambda: torch.is_same_size(X, 3), "is_same_size(): argument 'other' (position 2) must be Tensor, not int"),
    (lambda: torch.nonzero(X, out=3), "nonzero(): argument 'out' must be Tensor, not int"),
    (lambda: torch.nonzero(X, as_tuple=1), "nonzero(): argument 'as_tuple' must be bool, not int"),
    (lambda: torch.chain_matmul(X, out=3), "chain_matmul(): argument 'out' must be Tensor, not int"),
    (
        lambda: torch.atleast_1d(3),
        "atleast_1d() received an invalid combination of arguments - got (int), but expected one of:",
    ),
    (lambda: torch.atleast_2d([X, 3]), "expected Tensor as element 1 in argument 0, but got int"),
    (lambda: torch.add(X, 1, input=X), "add() got multiple values for argument 'input'"),
    (lambda: torch.cumsum(X, 0, axis=0), "cumsum() got an unexpected keyword argument 'axis'"),
    (
        lambda: X.sum(x=1),
        "sum() received an invalid combination of arguments - got (x=int, ), but expected one of:",
    ),
    (lambda: X.requires_grad_(True, True), "requires_grad_() takes from 0 to 1 positional arguments but 2 were given"),
    (lambda: X.resize_(), 'resize_() missing 1 required positional arguments: "size"'),
    (
        lambda: X.resize_(2, 3, memory_format=3),
        "resize_(): argument 'memory_format' must be torch.memory_format, not int",
    ),
    (lambda: X.resize_((2, 3), size=3), "resize_() got multiple values for argument 'size'"),
    (lambda: X.set_(X, "a"), "set_(): argument 'storage_offset' (position 2) must be int, not str"),
    (lambda: X.size(2.0), "size(): argument 'dim' (position 1) must be int, not float"),
    (lambda: X.size(True), "size(): argument 'dim' (position 1) must be int, not bool"),
    (lambda: X.stride(1, 2), "stride() takes from 0 to 1 positional arguments but 2 were given"),
    (lambda: X.stride(d=1), "stride() got an unexpected keyword argument 'd'"),
    (lambda: X.is_contiguous(3), "is_contiguous() takes 0 positional arguments but 1 was given"),
    (lambda: X.is_contiguous(format=3), "is_contiguous() got an unexpected keyword argument 'format'"),
    (
        lambda: torch.Tensor._make_subclass(Wrapper, 3),
        "_make_subclass(): argument 'data' (position 2) must be Tensor, not int",
    ),
    (
        lambda: torch.Tensor._make_subclass(Wrapper, X, 3),
        "_make_subclass(): argument 'require_grad' (position 3) must be bool, not int",
    ),
    (lambda: torch.Tensor._make_subclass(3, X), "cls must be a type (got int)"),
    (
        lambda: torch.Tensor._make_wrapper_subclass(Wrapper, 3),
        "_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not int",
    ),
    (
        lambda: torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dtype=3),
        "_make_wrapper_subclass(): argument 'dtype' must be torch.dtype, not int",
    ),
    (lambda: torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,)), "Tensor must define __torch_dispatch__"),
    (lambda: X._view_func_unsafe(3), "_view_func(): argument 'new_base' (position 1) must be Tensor, not int"),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_refusals(call, text):
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value).split("\n")[0] == text


def test_resampling_writes_no_other_dtype():
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        torch._C._nn.upsample_nearest2d(X[None, None], (4, 6), out=torch.ones(1, 1, 4, 6, dtype=torch.float64))


def test_arguments_by_name_and_by_place():
    assert X.size(1) == X.size(dim=1) == X.size(torch.tensor(1)) == 3 and X.size(None) == X.size() == (2, 3)
    assert X.stride(dim=-2) == 3 and X.stride() == (3, 1)
    assert X.is_contiguous() and not X.is_contiguous(memory_format=torch.channels_last)
    assert torch.promote_types(float, type2=torch.int8) == torch.float64
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        X.size(2**70)
    with pytest.raises(IndexError, match="Dimension out of range"):
        X.size(2)
    with pytest.raises(NotImplementedError, match="calls no visitors"):
        X.t()._view_func(X, lambda size: size)


def test_copy_calls_its_source_other_as_a_method_alone():
    assert torch.zeros(2, 3).copy_(other=X, non_blocking=True).equal(X)
    assert torch.ops.aten.copy_(torch.zeros(2, 3), src=X).equal(X)
    with pytest.raises(TypeError, match="argument 'other' .position 1. must be Tensor, not str"):
        torch.zeros(2).copy_("x")
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "other"'):
        torch.zeros(2).copy_(src=X)


@pytest.mark.parametrize("dims", [1.5, None, "a"])
def test_tensordot_says_what_dims_are(dims):
    with pytest.raises(RuntimeError, match="tensordot expects dims to be int or tuple.* but got dims="):
        torch.tensordot(X, X, dims)


def test_methods_written_in_python_take_no_other_arguments():
    for call, text in (
        (lambda: X.new_tensor([1], layout=torch.strided), "unexpected keyword argument 'layout'"),
        (lambda: X.type(torch.int, bogus=1), "unexpected keyword argument 'bogus'"),
        (lambda: X.float(None), r"float\(\) takes"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_arguments_that_stay_as_they_were():
    assert torch.tensordot(X, X.T, torch.tensor(1)).shape == (2, 2)
    assert torch.unique(X, dim=torch.tensor(1)).shape == (2, 1)
    assert not X.is_pinned("cuda") and not X.is_pinned(device="cuda") and not X.is_pinned(None)
    assert X.float(memory_format=torch.contiguous_format).dtype == torch.float32


def test_lu_of_a_singular_matrix_and_normalize_without_an_order():
    for found in (torch.lu(torch.ones(3, 3)), torch.ones(3, 3).lu(), torch.lu(torch.ones(3, 3), get_infos=True)):
        assert found[0][2, 2] == 0
    with pytest.raises(RuntimeError, match="is zero"):
        torch.linalg.lu_factor(torch.ones(3, 3))
    assert torch.allclose(torch.nn.functional.normalize(torch.ones(2, 4), None), torch.full((2, 4), 0.5))
