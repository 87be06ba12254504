"""The operators of ATen that wheels call from compiled code, through torch_call_dispatcher: all arguments by position."""

import ctypes

import numpy as np
import pytest

import shim_torch as torch

OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def x(*shape: int, dtype=torch.float32):
    values = np.random.default_rng(0).integers(-9, 10, shape)
    return torch.from_numpy(values).to(dtype)


def i(*shape: int):
    return x(*shape, dtype=torch.int64).abs()


# Schema, arguments, keyword arguments. The schemas are PyTorch 2.13's.
CALLS = [
    ("all(Tensor self) -> Tensor", (x(3, 4),), {}),
    ("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", (i(4), i(3, 4)), {}),
    ("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", (i(4), i(3, 4)), {}),
    ("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", (i(4), i(3, 4)), {}),
    ("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", (i(4), i(3, 4)), {}),
    ("cat(Tensor[] tensors, int dim=0) -> Tensor", ([x(2, 3), x(2, 5)], 1), {}),
    ("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", (x(2, 3, 4, 5),), {"memory_format": torch.channels_last}),
    ("contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", (x(3, 4).t(),), {}),
    ("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", (x(3, 4), i(4)), {}),
    ("div.Tensor(Tensor self, Tensor other) -> Tensor", (i(3, 4), i(4) + 1), {}),
    (f"empty.memory_format(SymInt[] size, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor", ((2, 3, 4, 5),), {"dtype": torch.uint8, "memory_format": torch.channels_last}),
    (f"empty_like(Tensor self, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor", (x(3, 4),), {"dtype": torch.int8}),
    (f"empty_strided(SymInt[] size, SymInt[] stride, {OPTIONS}) -> Tensor", ((2, 3), (1, 2)), {"device": "cpu"}),
    ("eq.Tensor(Tensor self, Tensor other) -> Tensor", (i(3, 4), i(4)), {}),
    ("equal(Tensor self, Tensor other) -> bool", (x(3), x(3)), {}),
    ("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", (x(3, 1), (2, 3, 4)), {}),
    ("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", (x(2, 3, 4), 1), {}),
    ("flip(Tensor self, int[] dims) -> Tensor", (x(2, 3), (0, 1)), {}),
    ("floor_divide(Tensor self, Tensor other) -> Tensor", (x(3, 4), i(4) + 1), {}),
    ("ge.Tensor(Tensor self, Tensor other) -> Tensor", (x(3, 4), x(4)), {}),
    ("gt.Tensor(Tensor self, Tensor other) -> Tensor", (x(3, 4), x(4)), {}),
    ("index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)", (x(3, 4), 0, torch.tensor([0, 2]), torch.tensor(7.0)), {}),
    ("index_select(Tensor self, int dim, Tensor index) -> Tensor", (x(3, 4), 1, torch.tensor([3, 0])), {}),
    ("is_pinned(Tensor self, Device? device=None) -> bool", (x(3),), {}),
    ("masked_select(Tensor self, Tensor mask) -> Tensor", (x(3, 4), x(3, 4) > 0), {}),
    ("matmul(Tensor self, Tensor other) -> Tensor", (x(3, 4), x(4, 2)), {}),
    ("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", (x(3, 5), 1), {}),
    ("mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", (x(3, 4), x(4, 2)), {"out": torch.empty(3, 2)}),
    ("mul.Tensor(Tensor self, Tensor other) -> Tensor", (x(3, 4), i(4)), {}),
    (f"new_empty(Tensor self, SymInt[] size, {OPTIONS}) -> Tensor", (x(3), (2, 2)), {}),
    (f"new_zeros(Tensor self, SymInt[] size, {OPTIONS}) -> Tensor", (x(3), (2, 2)), {"dtype": torch.bool}),
    ("nonzero(Tensor self) -> Tensor", (x(3, 4),), {}),
    ("permute(Tensor(a) self, int[] dims) -> Tensor(a)", (x(2, 3, 4), (2, 0, 1)), {}),
    ("remainder.Tensor(Tensor self, Tensor other) -> Tensor", (x(3, 4), i(4) + 1), {}),
    ("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", (x(2, 3), 2, 1), {}),
    ("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", (x(3, 4), (2, -1)), {}),
    ("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", (x(3, 4), (1, 2), (0, 1)), {}),
    ("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", (x(3, 4),), {}),
    ("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", (x(3, 4), 1, -1), {}),
    ("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", (x(5, 4), 0, 1, None, 2), {}),
    ("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", (x(3, 7),), {}),
    ("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", (x(3, 7),), {"stable": True}),
    ("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", (x(3, 1, 4), 1), {}),
    ("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", (x(3, 4), (0,), True), {"dtype": torch.float64}),
    (f"to.dtype_layout(Tensor(a) self, {OPTIONS}, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", (x(3),), {"dtype": torch.float16}),
    ("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", (x(3, 4), 0, 1), {}),
    ("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", (x(3), -1), {}),
    ("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", (x(3, 4), (12,)), {}),
    ("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", (x(3, 4), torch.int32), {}),
    ("zero_(Tensor(a!) self) -> Tensor(a!)", (x(3),), {}),
    (f"zeros(SymInt[] size, {OPTIONS}) -> Tensor", ((2, 3),), {}),
]  # fmt: skip
MADE_EMPTY = ("empty.memory_format", "empty_like", "empty_strided", "new_empty")


def fresh(value):
    return (
        value.clone()
        if isinstance(value, torch.Tensor)
        else [fresh(v) for v in value]
        if isinstance(value, list)
        else value
    )


@pytest.mark.parametrize(("schema", "arguments", "keywords"), CALLS, ids=[c[0].partition("(")[0] for c in CALLS])
def test_operator(library, ops, schema, arguments, keywords):
    full, _, rest = schema.partition("(")
    name, _, overload = full.partition(".")
    ours = getattr(getattr(torch.ops.aten, name), overload or "default")
    assert str(ours._schema) == f"aten::{schema}"
    through = f"via_{full.replace('.', '_')}"
    loaded = ctypes.CDLL(str(library))
    assert loaded.abi_test_define_forward(f"{through}({rest}".encode(), through.encode()) == 0
    loaded.abi_test_target(f"aten::{name}".encode(), overload.encode())
    given, kept = [fresh(a) for a in arguments], {k: fresh(v) for k, v in keywords.items()}
    found = getattr(ops, through)(*given, **kept)
    expected = ours(*[fresh(a) for a in arguments], **{k: fresh(v) for k, v in keywords.items()})
    for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert (a.dtype, a.shape, a.stride(), a.device) == (b.dtype, b.shape, b.stride(), b.device)
        assert full in MADE_EMPTY or torch.equal(a, b)
    if "(a!)" in schema:
        assert found is (kept["out"] if "out" in kept else given[0])
    elif "Tensor(a) self" in schema and full not in ("contiguous", "to.dtype_layout"):
        assert found.data_ptr() - given[0].data_ptr() in range(4 * given[0].numel()), "a view shares its memory"


def test_from_file(library, ops, tmp_path):
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.float32).tofile(path)
    y = torch.ops.aten.from_file(str(path), False, 3)
    assert y.tolist() == [0.0, 1.0, 2.0]
    y[0] = 9
    assert np.fromfile(path, np.float32)[0] == 0  # not shared: the file stays as it is
    shared = torch.from_file(str(path), shared=True, size=5, dtype=torch.float32)
    shared[1] = 7
    del shared
    assert np.fromfile(path, np.float32)[1] == 7
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.from_file(str(path), size=50, dtype=torch.float32)


def test_scalars_cannot_cross(library, ops):
    loaded = ctypes.CDLL(str(library))
    schema = b"via_add(Tensor self, Tensor other, float alpha) -> Tensor"
    assert loaded.abi_test_define_forward(schema, b"via_add") == 0
    loaded.abi_test_target(b"aten::add", b"Tensor")
    with pytest.raises(RuntimeError, match="aten::add.Tensor: Not yet supported conversion"):
        ops.via_add(x(3), x(3), 1.0)
