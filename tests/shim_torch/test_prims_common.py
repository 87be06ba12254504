"""``torch._prims_common`` and what compares fake tensors with real ones."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import _prims_common as common
from shim_torch._impl.transforms.prims.layouts import clone_preserve_strides
from shim_torch._prims.context import TorchRefsMode, torch_to_refs_map
from shim_torch._subclasses import CrossRefFakeMode
from shim_torch._subclasses.fake_tensor import FakeTensorMode, MetadataMismatchError
from shim_torch._subclasses.fake_utils import output_alias_each_other, outputs_alias_inputs, outputs_are_inputs


def test_metadata_that_differ_are_named():
    a = torch.ones(2, 3)
    common.compare_tensor_meta(a, torch.zeros(2, 3))
    with pytest.raises(MetadataMismatchError, match=r"Shapes torch.Size\(\[2, 3\]\) and torch.Size\(\[3, 2\]\)"):
        common.compare_tensor_meta(a, torch.ones(3, 2))
    with pytest.raises(MetadataMismatchError, match="Dtypes torch.float32 and torch.int64 are not equal!"):
        common.compare_tensor_meta(a, a.long())
    with pytest.raises(MetadataMismatchError, match=r"Stride mismatch! Strides are \(3, 1\) and \(1, 2\)"):
        common.compare_tensor_meta(a, torch.ones(3, 2).T, check_strides=True)
    c = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(MetadataMismatchError, match="Conj mismatch! is_conj is set to True and False"):
        common.compare_tensor_meta(c.conj(), c)


def test_strides_of_dims_of_one_element_do_not_count():
    a, b = torch.empty_strided((1, 3), (3, 1)), torch.empty_strided((1, 3), (1, 1))
    assert common.check_significant_strides(a, b, only_cuda=False) == (True, None)
    assert common.check_all_strides(a, b, only_cuda=False) == (False, 0)


@pytest.mark.parametrize(
    "tensors",
    [
        (torch.ones(2, 3, 4),),
        (torch.ones(4, 3, 2).permute(2, 1, 0),),
        (torch.ones(2, 4, 3).transpose(1, 2), torch.ones(2, 3, 4)),
        (torch.ones(2, 3, 1).expand(2, 3, 4), torch.ones(4, 3, 2).permute(2, 1, 0)),
        (torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),),
        (torch.ones(2, 3, 8)[..., ::2], torch.ones(2, 4, 3).transpose(1, 2)),
    ],
)
def test_elementwise_strides_are_those_of_the_operators(tensors):
    result = tensors[0] + 1 if len(tensors) == 1 else tensors[0] + tensors[1]
    assert common.compute_elementwise_output_strides(*tensors) == result.stride()


def test_shapes_and_types():
    assert common.apply_perm((5, 6, 7), (2, 0, 1)) == [7, 5, 6]
    assert common.invert_perm((2, 0, 1)) == [1, 2, 0]
    assert common.infer_size_shapes((3, 1), (2, 1, 4)) == (2, 3, 4)
    assert common.compute_reduction_output_shape((2, 3, 4), (1,)) == (2, 4)
    assert common.make_channels_last_2d_strides_for((2, 3, 4, 5)) == (60, 1, 15, 3)
    assert common.is_weakly_lesser_type(int, float) and not common.is_weakly_lesser_type(complex, float)
    assert not common.can_safe_cast_to(cast_to=torch.int32, cast_from=torch.float32)
    kinds = common.REDUCTION_OUTPUT_TYPE_KIND
    reduced = common.reduction_dtypes(torch.ones(2, dtype=torch.bfloat16), kinds.SAME)
    assert reduced == (torch.float32, torch.bfloat16)
    assert common.set_correction(unbiased=False) == 0.0
    with pytest.raises(RuntimeError, match="duplicate value in the list of dims"):
        common.validate_no_repeating_dims([1, 1])


def test_memory_shared_by_outputs_and_inputs():
    a = torch.ones(4)
    assert outputs_alias_inputs([a.view(2, 2)], (a,)) and not outputs_are_inputs([a.view(2, 2)], (a,))
    assert outputs_are_inputs({"x": a}, (a,)) and not outputs_alias_inputs(a + 1, (a,))
    assert output_alias_each_other(list(a.split(2))) and not output_alias_each_other([a, a + 1])
    with FakeTensorMode() as mode:
        f = mode.from_tensor(a)
        assert outputs_alias_inputs(f.view(2, 2), f) and not outputs_alias_inputs(f + 1, f)


def test_a_wrong_fake_is_told_by_the_cross_reference_mode():
    with torch.library._scoped_library("crossref", "FRAGMENT") as lib:
        lib.define("halved(Tensor x) -> Tensor")
        lib.impl("halved", lambda x: x[::2].clone(), "CPU")
        lib.impl("halved", lambda x: x.clone(), "Meta")
        with CrossRefFakeMode(), pytest.raises(MetadataMismatchError, match="crossref.halved"):
            torch.ops.crossref.halved(torch.ones(4))
    with CrossRefFakeMode():
        assert (torch.ones(3) * 2).tolist() == [2.0, 2.0, 2.0]


def test_functions_are_read_as_refs():
    assert torch_to_refs_map()[torch.add] is torch._refs.add
    with TorchRefsMode(strict=True):
        assert torch.add(torch.ones(2), 1).tolist() == [2.0, 2.0]
        assert torch.nn.functional.relu(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("kind", "half", "integer", "logical", "complex_half"),
    [
        ("DEFAULT", "float32 float16", "int64 int64", "bool bool", "complex64 complex32"),
        ("NO_OPMATH", "float16 float16", "int64 int64", "bool bool", "complex32 complex32"),
        ("INT_TO_FLOAT", "float32 float16", "float32 float32", "float32 float32", "complex64 complex32"),
        ("ALWAYS_BOOL", "float32 bool", "int64 bool", "bool bool", "complex64 bool"),
        ("COMPLEX_TO_FLOAT", "float32 float16", "int64 int64", "bool bool", "complex64 float16"),
        ("BOOL_TO_LONG", "float32 float16", "int64 int64", "int64 int64", "complex64 complex32"),
    ],
)
def test_dtypes_of_pointwise_operators(kind, half, integer, logical, complex_half):
    rule = common.ELEMENTWISE_TYPE_PROMOTION_KIND[kind]
    dtypes = (torch.float16, torch.int64, torch.bool, torch.complex32)
    for dtype, wanted in zip(dtypes, (half, integer, logical, complex_half), strict=True):
        found = common.elementwise_dtypes(torch.empty(1, dtype=dtype), None, type_promotion_kind=rule)
        assert found == tuple(getattr(torch, name) for name in wanted.split())


def test_dtypes_of_no_operands_and_of_what_is_none():
    rule = common.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    assert common.elementwise_dtypes(None, type_promotion_kind=rule) == (torch.bool, torch.bool)
    with pytest.raises(ValueError, match="Unexpected type <class 'str'> when computing elementwise type promotion!"):
        common.elementwise_dtypes("x", type_promotion_kind=rule)
    with pytest.raises(ValueError, match="Unknown type promotion kind 3"):
        common.elementwise_dtypes(torch.ones(1), type_promotion_kind=3)


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((), (), ()),
        ((3,), (1,), (1,)),
        ((2, 3), (3, 1), (1, 2)),
        ((2, 0, 3), (3, 3, 1), (3, 1, 1)),
        ((4, 2, 3, 5), (30, 15, 5, 1), (30, 15, 1, 3)),
    ],
)
def test_strides_of_dense_tensors(shape, rows, columns):
    assert common.make_contiguous_strides_for(shape) == rows
    assert common.make_contiguous_strides_for(shape, False) == columns


def test_copies_keep_gaps():
    x = torch.arange(24.0).reshape(4, 6)[1:, ::2]
    copy = clone_preserve_strides(x)
    assert (copy.stride(), copy.storage_offset(), copy.tolist()) == (x.stride(), 6, x.tolist())
    assert copy.data_ptr() != x.data_ptr()


def test_prims_common():
    p = torch._prims_common
    kind = p.ELEMENTWISE_TYPE_PROMOTION_KIND
    bf = torch.ones(2, dtype=torch.bfloat16)
    ints = torch.ones(2, dtype=torch.int32)
    assert p.elementwise_dtypes(bf, 1.0, type_promotion_kind=kind.DEFAULT) == (torch.float32, torch.bfloat16)
    assert p.elementwise_dtypes(ints, type_promotion_kind=kind.INT_TO_FLOAT) == (torch.float32, torch.float32)
    wide = torch.tensor(1.0, dtype=torch.float64)
    assert p.elementwise_dtypes(ints, wide, type_promotion_kind=kind.DEFAULT) == (torch.float64, torch.float64)
    assert p.elementwise_dtypes(ints, type_promotion_kind=kind.ALWAYS_BOOL)[1] == torch.bool
    assert p.make_contiguous_strides_for((2, 3, 4)) == (12, 4, 1)
    assert p.make_channels_last_strides_for((2, 3, 4, 5)) == (60, 1, 15, 3)
    assert p.is_non_overlapping_and_dense(torch.ones(2, 3).t())
    assert not p.is_non_overlapping_and_dense(torch.ones(2, 4)[:, ::2])
    assert p.canonicalize_dim(3, -1) == 2
    assert p.infer_size((2, -1), 6) == (2, 3)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        p.canonicalize_dim(3, 3)
