"""Operators on a tensor's own state, questions and checks, by ATen's names."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 2, 3, seed=1)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "leaf": pattern(torch, 2, 3, seed=2).requires_grad_(),
        "i": torch.tensor([5, 6, 7]),
        "info": torch.tensor([0, 2, 0], dtype=torch.int32),
        "one": torch.tensor(True),
        "two": torch.tensor(2, dtype=torch.int32),
        "overlap": lambda *given: aten_overlap(torch, *given),
    }


def aten_overlap(torch, size, stride):
    """What is said of a tensor of this geometry."""
    return torch._debug_has_internal_overlap(torch.zeros(64).as_strided(size, stride))


_API = "inv solve cholesky svd eig lstsq lu_factor".split()
CASES = (
    [f"torch._linalg_check_errors(info, 'linalg.{n}', is_matrix=False)" for n in _API]
    + """
torch._linalg_check_errors(two, 'linalg.inv', is_matrix=True)
torch._linalg_check_errors(info[:1], 'linalg.inv', is_matrix=False)
aten.__iand__.Scalar(i.clone(), 4)
aten.__ior__.Tensor(i.clone(), i.flip(0))
aten.__ixor__.Scalar(i.clone(), 1)
aten.__lshift__.Scalar(i, 2)
aten.__rshift__.Tensor(i, i - 5)
aten.__ilshift__.Tensor(i.clone(), i - 5)
aten.__irshift__.Scalar(i.clone(), 1)
aten.set_.source_Tensor(torch.empty(0), x)
aten.set_.source_Tensor_storage_offset(torch.empty(0), x, 1, [2], [3])
aten.set_(x.clone()).shape
aten.set_.source_Storage(torch.empty(0), x.untyped_storage())
aten._reshape_alias_copy(x, [3, 2], [2, 1])
aten._reshape_from_tensor(leaf, torch.tensor([3, 2]))
aten.polygamma_(x.abs() + 1, 1)
aten._autocast_to_full_precision(x.half(), False, True)
aten._autocast_to_full_precision(x.half(), True, False)
aten._autocast_to_reduced_precision(x, False, True, torch.float16, torch.bfloat16)
aten._autocast_to_reduced_precision(x.double(), False, True, torch.float16, torch.bfloat16)
aten._has_same_storage_numel(x, x[:1])
aten._has_same_storage_numel(x, x[:1].clone())
aten.sym_is_contiguous(x)
aten.sym_is_contiguous(x.t())
aten.result_type.Tensor(i, x)
aten.result_type.Scalar(i, 1.5)
aten.result_type.Scalar_Tensor(1.5, i)
aten.result_type.Scalar_Scalar(True, 2)
overlap([2, 3], [3, 1])
overlap([2, 3], [0, 1])
overlap([2, 3], [1, 1])
overlap([2, 3], [4, 1])
overlap([3, 2], [1, 3])
overlap([1, 3], [0, 1])
aten._assert_async.msg(one, 'told')
aten._assert_async.msg(~one, 'told')
aten._assert_async.msg(x > 0, 'told')
aten._assert_async.msg(x[:0], 'told')
aten._functional_assert_async.msg(~one, 'told', x)
aten._functional_assert_async.msg(one, 'told', x)
aten._assert_scalar(0, 'told')
aten._functional_assert_scalar(1, 'told', x)
torch.sym_constrain_range(3, min=1, max=5)
torch.sym_constrain_range(3, min=4)
torch.sym_constrain_range(3, max=2)
torch.sym_constrain_range(3, min=5, max=2)
torch.sym_constrain_range_for_size(3, max=2)
torch.sym_constrain_range_for_size(-1)
aten._functional_sym_constrain_range(3, 1, 5, x)
aten._functional_sym_constrain_range_for_size(3, 1, 5, x)
torch._is_zerotensor(x)
torch.is_distributed(x)
torch._dim_arange(x, 1)
aten.rrelu_with_noise(leaf, torch.empty(2, 3), 0.1, 0.3, False)
aten.range(1, 4)
aten.is_leaf(leaf)
aten.output_nr(leaf)
aten._version(x)
""".strip().splitlines()
)
