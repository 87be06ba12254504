"""Names outside of PyTorch's documentation that libraries import."""

from __future__ import annotations

import io

import pytest

import shim_torch as torch


def test_flat_vectors_of_tensors():
    from shim_torch._utils import _flatten_dense_tensors, _reorder_tensors_as, _take_tensors, _unflatten_dense_tensors

    tensors = [torch.ones(2, 2), torch.zeros(0, 3), torch.full((1,), 7.0)]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 1, 1, 7]
    parts = _unflatten_dense_tensors(torch.arange(5.0), tensors)
    assert [p.tolist() for p in parts] == [[[0, 1], [2, 3]], [], [4]] and parts[1].shape == (0, 3)
    with pytest.raises(ValueError, match="expected a non-empty list"):
        _flatten_dense_tensors([])
    mixed = [torch.ones(4), torch.ones(2, dtype=torch.int64), torch.ones(4), torch.ones(1)]
    groups = list(_take_tensors(mixed, 32))
    assert [[len(t) for t in g] for g in groups] == [[4, 4], [1], [2]]
    again = _reorder_tensors_as([mixed[0], mixed[2], mixed[3], mixed[1]], mixed)
    assert all(a is b for a, b in zip(again, mixed, strict=True))


def test_archive_reader_and_writer(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.arange(5.0)}, path)
    reader = torch.PyTorchFileReader(str(path))
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1")
    held = reader.get_storage_from_record("data/0", 5, torch.float32)
    assert held.numel() == 0 and held.untyped_storage().nbytes() == 20
    assert torch.empty(0).set_(held.untyped_storage(), 0, (5,), (1,)).tolist() == [0, 1, 2, 3, 4]
    assert path.read_bytes()[reader.get_record_offset("data/0") :][:20] == reader.get_record("data/0")
    with pytest.raises(RuntimeError, match="failed locating file nothing: file not found"):
        reader.get_record("nothing")
    with pytest.raises(RuntimeError, match="errno 2 on fopen"):
        torch.PyTorchFileReader(str(tmp_path / "absent"))
    out = io.BytesIO()
    writer = torch._C.PyTorchFileWriter(out)
    writer.write_record("part", b"abcdef", 3)
    writer.write_end_of_file()
    assert writer.get_all_written_records() == {"part", "byteorder", "version", ".data/serialization_id"}
    assert torch.PyTorchFileReader(out).get_record("part") == b"abc"


def test_operators_of_the_profiler():
    profiler = torch.ops.profiler
    record = profiler._record_function_enter_new("forward", None)
    assert repr(record) == "ScriptObject <__torch__.torch.classes.profiler._RecordFunction>"
    profiler._record_function_exit._RecordFunction(record)
    handle = profiler._record_function_enter("backward")
    assert handle.dtype == torch.uint8
    profiler._record_function_exit(handle)
    with torch.profiler.profile() as p:
        profiler._record_function_exit(profiler._record_function_enter_new("named"))
    assert "named" in {e.key for e in p.key_averages()}


def test_decompositions_are_noted():
    from shim_torch import _decomp
    from shim_torch._inductor.decomposition import decompositions, register_decomposition

    op = torch.ops.aten.add.Tensor
    register_decomposition([op])(len)
    register_decomposition(op)(max)
    assert decompositions.pop(op) is max
    _decomp.register_decomposition(op)(len)
    assert _decomp.get_decompositions([torch.ops.aten.add, torch.ops.aten.mul]) == {op: len}
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.add.Tensor"):
        _decomp.register_decomposition(op)(max)
    _decomp.remove_decompositions(_decomp.decomposition_table, [op])


def test_default_dtypes_in_schemas_are_named_or_numbered():
    library = torch.library.Library("library_names", "DEF")
    library.define("f(Tensor x, ScalarType a=float8_e4m3fn, ScalarType b=uint16) -> Tensor")
    assert str(torch.ops.library_names.f.default._schema).split(" -> ")[0].endswith("a=24, ScalarType b=27)")


def test_kernels_for_devices_that_are_not_here():
    @torch.library.custom_op("library_names::g", mutates_args=())
    def g(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    for device in ("mps", "xpu", "hpu"):
        g.register_kernel(device)(lambda x: x)
    assert g(torch.zeros(1)).item() == 1
    with pytest.raises(RuntimeError, match="device string: nowhere"):
        g.register_kernel("nowhere")(lambda x: x)


def test_optimizers_without_our_init_step():
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups = inner, inner.param_groups

        def step(self, closure=None):
            return self.inner.step(closure)

    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    Wrapper(torch.optim.SGD([p], lr=0.5)).step()
    assert p.item() == 0.5


@pytest.mark.parametrize(
    "name, call",
    [
        ("rpc.rpc_sync", lambda: torch.distributed.rpc.rpc_sync("a", len)),
        ("SparseSemiStructuredTensorCUTLASS", lambda: torch.sparse.SparseSemiStructuredTensorCUTLASS(torch.ones(2))),
    ],
)
def test_what_is_not_supported_says_so(name, call):
    with pytest.raises(NotImplementedError, match=name):
        call()


def test_sparse_addmm_and_copies():
    a, b, c = torch.ones(2, 2), torch.eye(2), torch.ones(2, 2)
    assert torch.ops.aten._sparse_addmm(a, b, c, beta=2, alpha=3).tolist() == [[5, 5], [5, 5]]
    assert torch._has_compatible_shallow_copy_type(a, torch.ones(3, dtype=torch.int32))
    assert not torch._has_compatible_shallow_copy_type(a, torch.ones(2, device="meta"))
    from shim_torch.nn.parallel import comm

    with pytest.raises(AssertionError, match="expects all inputs to be on GPUs, but input 0 is on CPU"):
        comm.reduce_add([a])
    assert comm.gather([a, b], 1, -1).shape == (2, 4)


def test_collectives_of_one_process():
    ops, dist = torch.ops._c10d_functional, torch.distributed
    x = torch.arange(3.0)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        ops.all_reduce(x, "sum", "0")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for made in (
            ops.all_reduce(x, "sum", "0"),
            ops.all_gather_into_tensor(x, 1, "0"),
            ops.reduce_scatter_tensor(x, "sum", 1, "0"),
            torch.ops.c10d_functional.all_gather_into_tensor(x, "", [0], 1),
        ):
            assert made.tolist() == [0, 1, 2] and made.data_ptr() != x.data_ptr()
        assert ops.wait_tensor(x).data_ptr() == x.data_ptr()
        with pytest.raises(ValueError, match="the group has 1 processes, not 2"):
            ops.all_gather_into_tensor(x, 2, "0")
    finally:
        dist.destroy_process_group()


def test_questions_about_schemas():
    from shim_torch._library import utils as u
    from shim_torch._library.infer_schema import tuple_to_list

    def told(name):
        op = u.lookup_op(name)
        s = op._schema
        return (
            u.is_functional_schema(s),
            u.is_functional_schema(s, allow_valid_view=True),
            u.mutates_and_returns_first_arg(op),
            u.has_kwarg_only_tensors(s),
            u.mutated_args_kwargs(s),
        )

    assert told("aten::relu") == (True, True, False, False, ([], []))
    assert told("aten::relu_") == (False, False, True, False, ([0], []))
    assert told("aten::view") == (False, True, False, False, ([], []))
    assert told("aten::index_put_") == (False, False, True, False, ([0], []))
    assert told("aten::add.out") == (False, False, False, True, ([], ["out"]))
    schema = u.lookup_op("aten::add.Tensor")._schema
    assert u.is_functional_schema(str(schema)) and u.has_tensor_arg(schema)
    assert u.fill_defaults(schema, (1, 2), {}) == ((1, 2), {"alpha": 1})
    given = [(a.name, v) for a, v in u.zip_schema(schema, (1,), {"alpha": 3, "other": 2})]
    assert given == [("self", 1), ("other", 2), ("alpha", 3)]
    assert [u.is_tensorlist_like_type(a.type) for a in u.lookup_op("aten::index_put_")._schema.arguments][:2] == [
        False,
        True,
    ]
    with pytest.raises(ValueError, match='of the form "namespace::name"'):
        u.parse_namespace("sin")
    assert u.get_source(1).startswith(__file__)
    assert tuple_to_list(tuple[int, ...]) == list[int] == tuple_to_list(tuple[int, int])
    assert tuple_to_list(tuple) is list and tuple_to_list(tuple[int, float]) == list[int | float]
    assert (
        tuple_to_list(tuple[()]) is list and repr(tuple_to_list(tuple[int, float])) == "list[typing.Union[int, float]]"
    )
    with pytest.raises(AssertionError, match="schema has 3 arguments but got 3 args and 1 kwargs"):
        list(u.zip_schema(schema, (1, 2, 3), {"alpha": 3}))
    a, b, c = torch.ones(1), torch.ones(2), torch.ones(3)
    assert [len(t) for t in u.iter_tensors((b, [a, "x", (c,)]), {"k": (c, None)})] == [2, 1, 3]
    assert [len(t) for t in u.iter_tensors((b, [a, "x", (c,)]), {"k": (c, None)}, 2)] == [2, 1, 3, 3]
    assert [len(t) for t in u.iter_tensors((b, [a]), {}, 0)] == [2]


def test_results_share_no_memory():
    from shim_torch._library.utils import check_aliasing_constraint

    x = torch.ones(3)
    check_aliasing_constraint("ns::op", (x,), (x.clone(), [x + 1]))
    for result in (x, x[1:], (x + 1, [x])):
        with pytest.raises(RuntimeError, match=r"ns::op .*must not also be an input to this custom operator and \(2\)"):
            check_aliasing_constraint("ns::op", (x,), result)
