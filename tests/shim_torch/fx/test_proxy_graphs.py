"""Graphs run again with decompositions, and what they say of their results."""

import shim_torch as torch
from shim_torch._subclasses.fake_tensor import extract_tensor_metadata
from shim_torch.fx import Graph, GraphModule
from shim_torch.fx.experimental.proxy_tensor import DecompositionInterpreter, make_fx


def test_a_decomposition_stands_for_its_operator():
    x = torch.tensor([-1.0, 0.5, 2.0])
    module = make_fx(lambda x: torch.nn.functional.silu(x) + 1)(x)
    graph = Graph()
    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    result = DecompositionInterpreter(module, new_graph=graph, decomposition_table=table).run(x)
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert targets == [torch.ops.aten.sigmoid.default, torch.ops.aten.mul.Tensor, torch.ops.aten.add.Tensor]
    torch.testing.assert_close(GraphModule(module, graph)(x), result)
    torch.testing.assert_close(result, torch.nn.functional.silu(x) + 1)


def test_results_keep_their_annotation():
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert "def forward(self, x_1) -> torch.Tensor:" in make_fx(f)(torch.ones(2)).code
    assert "def forward(self, x_1):" in make_fx(lambda x: x + 1)(torch.ones(2)).code


def test_metadata_tell_tensors_apart():
    x = torch.zeros(2, 3, 4, 5)
    first = extract_tensor_metadata(x)
    assert first == extract_tensor_metadata(torch.ones(2, 3, 4, 5)) and first.memory_format is torch.contiguous_format
    last = extract_tensor_metadata(x.to(memory_format=torch.channels_last))
    assert last != first and last.memory_format is torch.channels_last and last.stride == (60, 1, 15, 3)
    assert extract_tensor_metadata(x[:, 1:]).memory_format is None
    sparse = extract_tensor_metadata(torch.eye(3).to_sparse().coalesce())
    assert (sparse.is_coalesced, sparse.sparse_dim, sparse.dense_dim, sparse.storage_bytes) == (True, 2, 0, None)


def test_parts_of_results_are_values_of_the_trace():
    def f(x):
        values, places = torch.ops.aten.topk(x, 2)
        return {"v": values, "n": [places, torch.ops.aten.split(x, 2)[1]]}

    x = torch.arange(4.0)
    module = make_fx(f)(x)
    found = module(x)
    assert (
        found["v"].tolist() == [3.0, 2.0] and found["n"][0].tolist() == [3, 2] and found["n"][1].tolist() == [2.0, 3.0]
    )
    assert [n.name for n in module.graph.nodes if "getitem" in n.name] == [
        "getitem",
        "getitem_1",
        "getitem_2",
        "getitem_3",
    ]
    assert [type(n.meta["val"]) for n in module.graph.nodes if n.name in ("topk", "split")] == [tuple, list]
