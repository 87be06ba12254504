"""Arguments of wrong types, dtypes and shapes: the errors of PyTorch 2.13 on the CPU, never a wrong answer."""

import pytest
from refused import check_refused

import shim_torch as torch

F = torch.nn.functional


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


CASES = {
    "sizes that differ in several dims": (
        lambda: ones(2, 3, 4) + ones(3, 4, 5), RuntimeError,
        "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 2"),
    "unravel_index of a tensor's sizes": (
        lambda: torch.unravel_index(torch.tensor([1]), torch.tensor([1, 2])), TypeError,
        "expected 'shape' to be int or sequence of ints, but got <class 'torch.Tensor'>"),
    "unravel_index of sizes of floats": (
        lambda: torch.unravel_index(torch.tensor([1]), (1, 2.0)), TypeError,
        "expected 'shape' sequence to only contain ints, but got <class 'float'>"),
    "size of no dims": (lambda: ones().size(0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    "stride of no dims": (lambda: ones().stride(-1), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    "size of a bool": (
        lambda: ones(2).size(True), TypeError, "size(): argument 'dim' (position 1) must be int, not bool"),
    "size of two": (
        lambda: ones(2).size(0, 0), TypeError, "size() takes from 0 to 1 positional arguments but 2 were given"),
    "size by another name": (
        lambda: ones(2).size(dims=0), TypeError, "size() got an unexpected keyword argument 'dims'"),
    "requires_grad_ of a number": (
        lambda: ones(2).requires_grad_(1), TypeError,
        "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not int"),
    "set_grad_enabled of None": (
        lambda: torch.set_grad_enabled(None), TypeError,
        "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not NoneType"),
    "device of None": (
        lambda: torch.device(None), TypeError,
        "device() received an invalid combination of arguments - got (NoneType), but expected one of:\n"
        " * (torch.device device)\n"
        "      didn't match because some of the arguments have invalid types: (!NoneType!)\n"
        " * (str type, int index = -1)\n"),
    "device of a bool": (
        lambda: torch.device(True), TypeError, "device() received an invalid combination of arguments - got (bool)"),
    "device's index": (
        lambda: torch.device("cpu", "0"), TypeError, "device(): argument 'index' (position 2) must be int, not str"),
    "device of another name": (
        lambda: torch.device("x"), RuntimeError,
        "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
        "meta, hpu, mtia, privateuseone device type at start of device string: x"),
    "generator of a number": (
        lambda: torch.Generator(1.5), TypeError,
        "Generator(): argument 'device' (position 1) must be torch.device, not float"),
    "promote_types": (
        lambda: torch.promote_types(torch.int8, None), TypeError,
        "promote_types(): argument 'type2' (position 2) must be torch.dtype, not NoneType"),
    "can_cast": (
        lambda: torch.can_cast(torch.int8), TypeError, "can_cast() missing 1 required positional arguments: \"to\""),
    "a loss of one tensor": (
        lambda: torch.nn.functional.soft_margin_loss(torch.ones(2)), TypeError,
        "soft_margin_loss() missing 1 required positional argument: 'target'"),
    "a loss of none": (
        lambda: torch.nn.functional.triplet_margin_loss(), TypeError,
        "triplet_margin_loss() missing 3 required positional arguments: 'anchor', 'positive', and 'negative'"),
    "a complex dtype for integers": (
        lambda: torch.int32.to_complex(), RuntimeError, "Unknown Complex ScalarType for Int"),
    "a complex dtype for bool": (
        lambda: torch.bool.to_complex(), RuntimeError, "Unknown Complex ScalarType for Bool"),
    "finfo of pairs": (
        lambda: torch.finfo(torch.float4_e2m1fn_x2), NotImplementedError,
        "\"dtype\" not implemented for 'Float4_e2m1fn_x2'"),
    "finfo of None": (
        lambda: torch.finfo(None), TypeError, "finfo(): argument 'type' (position 1) must be torch.dtype, not NoneType"),
    "threads": (lambda: torch.set_num_threads(2.5), RuntimeError, "set_num_threads expects an int, but got float"),
    "list in a call": (
        lambda: torch.mean([1, 2], 1), TypeError,
        "mean() received an invalid combination of arguments - got (list, int), but expected one of:"),
    "numel": (lambda: torch.numel(3), TypeError, "numel(): argument 'input' (position 1) must be Tensor, not int"),
    "real": (lambda: torch.real(2j), TypeError, "real(): argument 'input' (position 1) must be Tensor, not complex"),
    "nonzero": (lambda: torch.nonzero("a"), TypeError, "nonzero(): argument 'input' (position 1) must be Tensor, not str"),
    "cdist": (
        lambda: torch.cdist(ones(1, 1), None), TypeError,
        "cdist(): argument 'x2' (position 2) must be Tensor, not NoneType"),
    "unique": (lambda: torch.unique(3), TypeError, "_unique2(): argument 'input' (position 1) must be Tensor, not int"),
    "split": (
        lambda: torch.split(ones(2), "a"), TypeError,
        "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not str"),
    "einsum of None": (
        lambda: torch.einsum("i,i->", ones(2), None), TypeError,
        "expected Tensor as element 1 in argument 1, but got NoneType"),
    "einsum's equation": (
        lambda: torch.einsum(3, ones(2)), TypeError, "einsum(): argument 'equation' (position 1) must be str, not int"),
    "fill_ by a row": (
        lambda: ones(2, 3).fill_(ones(3)), RuntimeError,
        "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."),
    "frombuffer": (
        lambda: torch.frombuffer(bytearray(8), dtype="int32"), TypeError,
        "frombuffer(): argument 'dtype' must be torch.dtype, not str"),
    "mse of integers": (
        lambda: F.mse_loss(ones(2).int(), ones(2).int()), NotImplementedError, "\"mse_cpu\" not implemented for 'Int'"),
    "bce of two dtypes": (
        lambda: F.binary_cross_entropy(ones(2), ones(2).double()), RuntimeError,
        "Found dtype Double but expected Float"),
    "weights of another size": (
        lambda: F.l1_loss(ones(2), ones(2), weight=ones(1)), ValueError, "Weights and input must have the same size."),
    "reduction of a list": (
        lambda: F.mse_loss(ones(2), ones(2), reduction=["mean"]), ValueError,
        "['mean'] is not a valid value for reduction"),
    "compile of a number": (
        lambda: torch.compile(3), AssertionError, "A callable function is expected, but <class 'int'> is provided."),
    "ParameterList of a tensor": (
        lambda: torch.nn.ParameterList(ones(2)), TypeError,
        "ParameterList.extend should be called with an iterable, but got Tensor"),
    "norm of a matrix": (
        lambda: torch.nn.utils.clip_grad_norm_([], ones(2)), ValueError,
        "only one element tensors can be converted to Python scalars"),
    "lengths of two dims": (
        lambda: torch.nn.utils.rnn.pack_padded_sequence(ones(2, 2), [[1, 2]]), RuntimeError,
        "'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu Long tensor"),
    "shapes that do not broadcast": (
        lambda: torch.broadcast_shapes((2, 3), 4), RuntimeError,
        "Attempting to broadcast a dimension of length 4 at -1! Mismatching argument at index 1 had (4,); but expected shape "
        "should be broadcastable to [2, 3]"),
    "shapes of negative numbers": (
        lambda: torch.broadcast_shapes((1, -1)), ValueError,
        "Attempting to broadcast a dimension with negative length!"),
    "shapes that are none": (
        lambda: torch.broadcast_shapes(2.5), RuntimeError,
        "Input shapes should be of type ints, a tuple of ints, or a list of ints, got 2.5"),
    "type of a number": (lambda: ones(2).type(1.5), TypeError, "dtype must be a type, str, or dtype object"),
    "type of another class": (lambda: ones(2).type(float), ValueError, "invalid type: 'float'"),
    "result_type of a dtype": (
        lambda: torch.result_type(ones(2), torch.float64), TypeError,
        "result_type() received an invalid combination of arguments - got (Tensor, torch.dtype), but expected one of:\n"
        " * (Tensor tensor, Tensor other)\n"),
    "topk of truths": (
        lambda: torch.topk(ones(2).bool(), 1), RuntimeError, "topk does not support bool dtypes on CPU"),
    "normal of integers": (
        lambda: torch.normal(ones(2).int(), 1.0), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Int'"),
    "searchsorted of complex numbers": (
        lambda: torch.searchsorted(ones(2) * 1j, ones(2)), NotImplementedError,
        "\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'"),
    "cdist of two dtypes": (
        lambda: torch.cdist(ones(1, 1), ones(1, 1).double()), RuntimeError,
        "expected scalar type Float but found Double"),
    "dropout of complex numbers": (
        lambda: F.dropout(ones(2) * 1j), NotImplementedError,
        "\"bernoulli_scalar_cpu_\" not implemented for 'ComplexFloat'"),
    "outer of a matrix": (
        lambda: torch.outer(ones(2), ones(2, 2)), RuntimeError, "outer: Expected 1-D argument vec2, but got 2-D"),
    "from_dlpack of meta": (
        lambda: torch.from_dlpack(ones(2).to("meta")), ValueError, "Unknown device type meta for Dlpack"),
    "targets of another batch": (
        lambda: F.cross_entropy(ones(2, 3), torch.tensor(1)), ValueError,
        "Expected input batch_size (2) to match target batch_size (0)."),
    "integers for probabilities": (
        lambda: F.cross_entropy(ones(2, 3), ones(2, 3).long()), RuntimeError,
        "Expected floating point type for target with class probabilities, got Long"),
    "gradient of None": (lambda: torch.autograd.grad("a", ones(2)), AssertionError, "Expected output to be a torch.Tensor"),
    "gradient by a number": (
        lambda: torch.autograd.grad(ones(2).requires_grad_().sum(), [3]), RuntimeError,
        "all inputs have to be Tensors or GradientEdges, but got int"),
    "inputs of no size": (lambda: torch.nn.LSTM(0, 2), ValueError, "input_size must be greater than zero"),
    "bias that is a number": (
        lambda: torch.nn.GRU(2, 2, bias=1), TypeError, "bias should be of type bool, got: int"),
    "a device that is a number of halves": (
        lambda: torch.cuda.set_device(1.5), ValueError,
        "Expected a torch.device with a specified index or an integer, but got:1.5"),
    "broadcast_tensors": (
        lambda: torch.broadcast_tensors(ones(2), 3), TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    "complex order of a norm": (
        lambda: torch.linalg.vector_norm(ones(2), 2j), RuntimeError,
        "linalg.vector_norm: Expected a non-complex scalar as the order of norm."),
    "list of meta": (
        lambda: ones(2).to("meta").tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
    "product of truths and floats": (
        lambda: ones(2, 2).bool() @ ones(2, 2), RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: bool != float"),
    "linear of truths": (
        lambda: F.linear(ones(2, 2).bool(), ones(2, 2)), RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: bool != float"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused_in_pytorchs_words(name):
    check_refused(*CASES[name])


def test_numbers_may_be_copied():
    x = ones(2)
    assert x.copy_(2.5) is x
    assert x.tolist() == [2.5, 2.5]
    assert ones(2).int().copy_(True).tolist() == [1, 1]


def test_split_by_a_tensor_of_one_integer():
    assert [p.tolist() for p in torch.split(ones(3), torch.tensor(2))] == [[1, 1], [1]]


def test_losses_with_weights():
    x, y, w = torch.tensor([1.0, 2.0, 4.0]), torch.zeros(3), torch.tensor([1.0, 0.0, 3.0])
    assert F.l1_loss(x, y, weight=w).item() == 13 / 4
    assert F.l1_loss(x, y, weight=w, reduction="sum").item() == 13
    assert F.mse_loss(x, y, weight=w).item() == 49 / 4
    assert F.huber_loss(x, y, weight=w, reduction="none").tolist() == [0.5, 0.0, 10.5]
    assert F.huber_loss(x, y, weight=w).item() == pytest.approx(11 / 3)


def test_losses_of_mixed_dtypes():
    x = torch.tensor([1.0, 3.0])
    assert F.mse_loss(x, torch.tensor([True, False])).item() == 4.5
    assert F.mse_loss(torch.tensor([1, 1]), x).item() == 2.0
    assert F.huber_loss(x, torch.tensor([1, 1])).item() == 0.75


def test_all_and_any_over_no_dims_answer_for_every_element():
    """An empty list of dims means all of them to sums, and none to these two."""
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    for dims in ([], ()):
        assert torch.any(x, dims).tolist() == torch.all(x, dims).tolist() == [[False, True], [True, False]]
        assert torch.any(x, dims, keepdim=True).shape == (2, 2)
        assert torch.sum(x, dims).item() == 5.0
    assert torch.any(x, dim=None).item() is True
    assert torch.any(x.to("meta"), []).shape == (2, 2)


def test_pythons_types_as_dtypes():
    x = ones(2)
    assert [x.to(t).dtype for t in (float, int, bool, complex)] == [
        torch.float64, torch.int64, torch.bool, torch.complex128]  # fmt: skip
    assert torch.nn.Linear(2, 2).to(float).weight.dtype == torch.float64
    with pytest.raises(TypeError):
        torch.nn.Linear(2, 2).to(True)


def test_normal_has_the_dtype_of_the_mean():
    x = ones(2)
    assert torch.normal(x.half(), x).dtype == torch.float16
    assert torch.normal(x, x.double()).dtype == torch.float32
    assert torch.normal(1.0, x.double()).dtype == torch.float64


def test_result_type_by_name():
    assert torch.result_type(tensor=ones(2).int(), other=1.5) == torch.float32


@pytest.mark.parametrize("function", [torch.cat, torch.stack])
def test_parts_on_two_devices_are_refused(function):
    with pytest.raises(RuntimeError, match="device"):
        function([ones(2), ones(2).to("meta")])


def test_one_target_of_one_row():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert F.nll_loss(x, torch.tensor([1])).item() == F.nll_loss(x, torch.tensor(1)).item() == -2.0


def test_no_values_have_a_variance_with_gradients():
    x = torch.empty(2, 0, requires_grad=True)
    torch.var_mean(x)[0].backward()
    assert x.grad.shape == (2, 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_pseudoinverses_refuse_values_that_are_not_finite(value):
    """LAPACK may not end on infinities; PyTorch's answer to those is its LAPACK's: an error, NaN or zeros."""
    x = torch.eye(3).repeat(2, 1, 1)
    x[1, 0, 0] = value
    for hermitian in (False, True):
        with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1.*non-finite"):
            torch.linalg.pinv(x, hermitian=hermitian)


def test_hermitian_pseudoinverses_read_the_lower_triangle():
    x = torch.tensor([[2.0, float("inf")], [0.0, 4.0]])
    assert torch.linalg.pinv(x, hermitian=True).tolist() == [[0.5, 0.0], [0.0, 0.25]]


def test_bodies_refuse_dims_and_targets_that_do_not_fit():
    shim = torch.ops.shim
    rows = torch.zeros(4, 0)
    with pytest.raises((RuntimeError, IndexError)):
        shim.cross_entropy_backward(
            torch.ones(1), rows, torch.zeros(2, dtype=torch.int64), torch.ones(2), torch.ones(1), 1
        )
    x = torch.ones(1)
    x.untyped_storage().resize_(3)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 3"):
        torch._lazy_clone(x)
