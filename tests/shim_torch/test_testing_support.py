"""What PyTorch's own test files need around tensors: settings modules, references under other names, dtypes by name."""

from __future__ import annotations

from unittest import mock

import pytest

import shim_torch as torch


def test_settings_are_patched_and_set_back():
    import shim_torch._dynamo.config as config

    assert config.recompile_limit == 8 and config.suppress_errors is False
    with config.patch(recompile_limit=3), mock.patch.object(config, "suppress_errors", True):
        assert (config.recompile_limit, config.suppress_errors) == (3, True)
    assert (config.recompile_limit, config.suppress_errors) == (8, False)
    with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.nothing does not exist"):
        config.nothing = 1
    with pytest.raises(AttributeError), config.patch({"recompile_limit": 5, "nothing": 1}):
        pass
    assert config.recompile_limit == 8


def test_settings_of_a_group_and_their_copies():
    import shim_torch._inductor.config as config

    saved = config.save_config()
    try:
        config.triton.cudagraphs = True
        assert config.get_config_copy()["triton.cudagraphs"] is True
        assert config.codegen_config() == "torch._inductor.config.triton.cudagraphs = True"
    finally:
        config.load_config(saved)
    assert config.triton.cudagraphs is False and config.codegen_config() == ""


def test_patched_test_class():
    import unittest

    import shim_torch._dynamo.config as config

    seen = []

    @config.patch(verbose=True)
    class Case(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            seen.append(config.verbose)

        @classmethod
        def tearDownClass(cls):
            seen.append(config.verbose)

    Case.setUpClass()
    Case.tearDownClass()
    assert seen == [True, True] and config.verbose is False and Case.__name__ == "Case"


@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2", "quint2x4"])
def test_quantized_dtypes_are_names_without_tensors(name):
    dtype = getattr(torch, name)
    assert str(dtype) == f"torch.{name}" and dtype.itemsize == (4 if name == "qint32" else 1)
    assert not dtype.is_floating_point and not dtype.is_complex
    with pytest.raises(RuntimeError, match="isSignedType not supported for quantized types"):
        _ = dtype.is_signed
    with pytest.raises(NotImplementedError, match=f"quantized type torch.{name} are not supported by shim-torch"):
        torch.empty(3, dtype=dtype)
    with pytest.raises(NotImplementedError):
        torch.ones(2).to(dtype)


def test_references_are_the_operators():
    import shim_torch._refs as refs
    import shim_torch._refs._conversions as conversions
    import shim_torch._refs.nn.functional as functional

    x = torch.tensor([-1.5, 0.0, 2.0])
    assert refs.add is torch.add
    assert functional.relu(x).tolist() == [0.0, 0.0, 2.0]
    assert refs.rpow(x, 2.0).tolist() == pytest.approx([2**-1.5, 1.0, 4.0])
    assert refs.trunc_divide(x, 1.0).tolist() == [-1.0, 0.0, 2.0]
    assert refs.zero(x).tolist() == [0.0] * 3 and x.tolist() == [-1.5, 0.0, 2.0]
    assert conversions.int(x).dtype == torch.int32
    assert refs._broadcast_shapes((2, 1), None, (3,)) == [2, 3]
    with pytest.raises(AttributeError):
        _ = refs.no_such_operator


def test_primitives():
    import shim_torch._prims as prims

    x = torch.arange(6.0).reshape(2, 3)
    assert prims.broadcast_in_dim(torch.arange(3.0), (2, 3), (1,)).tolist() == [[0, 1, 2]] * 2
    assert prims.collapse_view(x, 0, 1).shape == (6,) and prims.split_dim(x, 1, 3).shape == (2, 3, 1)
    assert prims.sum(x, (0,)).tolist() == [3, 5, 7] and prims.prod(x + 1, None).item() == 720
    assert prims.div(torch.tensor([-7]), torch.tensor([2])).tolist() == [-3]
    assert prims.convert_element_type(x, torch.int32).dtype == torch.int32
    assert prims.iota(3, start=2, step=5, dtype=torch.int64, device="cpu", requires_grad=False).tolist() == [2, 7, 12]
    assert prims.slice(x, (0, 1), (2, 3)).tolist() == [[1, 2], [4, 5]]
    assert prims.rev(x, (1,)).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert prims.utils is torch._prims_common


def test_torch_function_state():
    state = torch._C._TorchFunctionState
    assert torch._C._get_torch_function_state() is state.ENABLED
    with torch._C.DisableTorchFunctionSubclass():
        assert torch._C._get_torch_function_state() is state.SUBCLASSES_DISABLED
        assert not torch._C._is_torch_function_all_disabled()
    with torch._C.DisableTorchFunction():
        assert torch._C._is_torch_function_all_disabled()
    torch._C._set_torch_function_state(state.SUBCLASSES_DISABLED)
    torch._C._set_torch_function_state(state.ENABLED)
    assert torch._C._is_torch_function_enabled()


def test_generators_are_left_as_they_were():
    from shim_torch.testing._utils import freeze_rng_state, wrapper_set_seed

    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    with freeze_rng_state():
        torch.rand(5)
    assert torch.equal(torch.rand(2), first)
    assert torch.equal(wrapper_set_seed(torch.rand, 3), wrapper_set_seed(torch.rand, 3))


def test_dtype_abbreviations():
    from shim_torch.utils._dtype_abbrs import dtype_abbrs

    assert [dtype_abbrs[d] for d in (torch.float32, torch.bfloat16, torch.uint8, torch.bool, torch.complex64)] == [
        "f32",
        "bf16",
        "u8",
        "b8",
        "c64",
    ]
    assert dtype_abbrs[torch.bits16] == "b16x1" and dtype_abbrs[torch.float4_e2m1fn_x2] == "f4e2m1fnx2"


def test_jiterator_parses_and_needs_a_gpu():
    function = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T f(T x, T y, T a) { return -x + a * y; }", a=1.0
    )
    assert function.kernel_name == "f"
    if not torch.cuda.is_available():
        with pytest.raises(AssertionError, match="only supported on CUDA"):
            function(torch.ones(2), torch.ones(2))
    with pytest.raises(Exception, match="Couldn't parse code"):
        torch.cuda.jiterator._create_jit_fn("int x;")
    with pytest.raises(AssertionError, match="single output"):
        torch.cuda.jiterator._JittedFunction("template <typename T> T f(T x) { return x; }", False, 2)


def test_tensors_are_grouped_by_device_and_dtype():
    from shim_torch.utils._foreach_utils import _group_tensors_by_device_and_dtype, _has_foreach_support

    a, b, c = torch.ones(2), torch.ones(3, dtype=torch.float64), torch.zeros(1)
    meta = torch.ones(2, device="meta")
    groups = _group_tensors_by_device_and_dtype([[a, b, c, meta], [None, b, None, meta], []], with_indices=True)
    lists, places = groups[torch.device("cpu"), torch.float32]
    assert lists[0][0] is a and lists[0][1] is c and lists[1] == [None, None] and lists[2] == [] and places == [0, 2]
    assert groups[torch.device("meta"), torch.float32][1] == [3]
    with pytest.raises(RuntimeError, match="Tensors not same size"):
        _group_tensors_by_device_and_dtype([[a, b], [a]])
    assert _has_foreach_support([a, None], a.device) and not _has_foreach_support([torch.nn.Parameter(a)], a.device)


def test_numerical_jacobians_of_all_outputs():
    from shim_torch.autograd.gradcheck import _get_numerical_jacobian

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    ((by_square, by_scale),) = _get_numerical_jacobian(lambda v: (v * v, v * w), x, eps=1e-6)
    torch.testing.assert_close(by_square, torch.diag(2 * x.detach()))
    torch.testing.assert_close(by_scale, torch.eye(2, dtype=torch.float64) * 3)
    ((by_w,),) = _get_numerical_jacobian(lambda v: v * w, x, target=w, eps=1e-6)  # w is no argument
    torch.testing.assert_close(by_w, x.detach().reshape(1, 2))


def test_clone_input_keeps_strides_and_gradients():
    from shim_torch._dynamo.utils import clone_input, clone_inputs

    x = torch.arange(6.0).reshape(2, 3)[:, ::2].requires_grad_()
    x.grad = torch.ones(2, 2)
    y = clone_input(x)
    assert y.stride() == x.stride() and y.requires_grad and torch.equal(y, x) and torch.equal(y.grad, x.grad)
    assert y.data_ptr() != x.data_ptr()
    assert list(clone_inputs({"a": (x, 3)})["a"])[1] == 3


def test_nested_map():
    from shim_torch.autograd.function import _nested_map

    double = _nested_map(lambda o: isinstance(o, int), lambda i: 2 * i, "ints")
    assert double({"a": [1, (2, None)]}) == {"a": [2, (4, None)]}
    with pytest.raises(
        ValueError, match="doesn't know how to process an input object of type str. Accepted types: ints"
    ):
        double("x")


def test_in_place_views_are_views_in_place():
    """What changes the sizes of its memory's part is one; what gets other memory is none (PyTorch's answers)."""
    from shim_torch.testing._internal.composite_compliance import is_inplace_view_fn

    aten = torch.ops.aten
    views = (
        aten.squeeze_.dim,
        aten.unsqueeze_.default,
        aten.swapaxes_.default,
        aten.as_strided_.default,
        aten.t_.default,
    )
    assert all(map(is_inplace_view_fn, (*views, aten.detach_.default)))
    assert not any(
        map(is_inplace_view_fn, (aten.resize_.default, aten.set_.default, aten.add_.Tensor, aten.squeeze.dim))
    )
