"""torch.compile's arguments and errors, breaks, and what torch.compiler and torch._dynamo have beside it."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
import shim_torch_proxy
from shim_torch._dynamo import exc
from shim_torch._impl.compile.calls import counts


def plus(x):
    return (x + 1) * 2


def test_arguments():
    for arguments, error, text in [
        ({"backend": "nope"}, exc.InvalidBackend, r"Invalid backend: 'nope', see `torch._dynamo.list_backends\(\)`"),
        ({"mode": "nope"}, RuntimeError, "Unrecognized mode=nope, should be one of: default, lite, reduce-overhead, "),
        ({"mode": "default", "options": {}}, RuntimeError, "Either mode or options can be specified, but both can't"),
        ({"options": {"nope": 1}}, RuntimeError, "Unexpected optimization option nope, known options are"),
        ({"options": {"max_autotune": "x"}}, RuntimeError, "attr max_autotune, got str should be bool"),
        ({"backend": 3}, exc.BackendCompilerFailed, "backend='3' raised:\nTypeError: 'int' object is not callable"),
        ({"fullgraph": "x"}, AssertionError, "Expected enable to be a bool, got <class 'str'>"),
        ({"dynamic": "x"}, TypeError, "dynamic must be a bool or None, not str"),
        ({"nope": 1}, TypeError, "unexpected keyword argument 'nope'"),
        ({"isolate_recompiles": True}, NotImplementedError, "isolate_recompiles"),
        ({"shapes_spec": {}}, NotImplementedError, "shapes_spec"),
        ({"recompile_limit": 0}, ValueError, "recompile_limit must be a positive int"),
    ]:
        with pytest.raises(error, match=text):
            torch.compile(plus, **arguments)
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided."):
        torch.compile(3)
    assert exc.InvalidBackend.__module__ == exc.Unsupported.__module__ == "torch._dynamo.exc"
    x = torch.ones(2)
    no_guards = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    for arguments in (
        {}, {"mode": "max-autotune"}, {"backend": "eager"}, {"backend": "aot_eager"}, {"dynamic": True}, {"options": no_guards},
    ):  # fmt: skip
        compiled = torch.compile(**arguments)(plus)
        assert compiled.__name__ == "plus" and compiled._torchdynamo_orig_callable is plus
        for _ in range(3):
            assert torch.equal(compiled(x), plus(x))
    assert torch.compile(plus, disable=True) is plus
    assert {"cudagraphs", "inductor"} <= set(torch.compiler.list_backends()) and "eager" in torch._dynamo.list_backends(
        None
    )


READS = {
    "item": lambda y: y.sum().item(),
    "bool": lambda y: bool(y.sum() > 0),
    "float": lambda y: float(y[0]),
    "list": lambda y: y.tolist(),
    "numpy": lambda y: y.numpy(),
    "array": lambda y: np.asarray(y),
    "text": lambda y: repr(y),
    "pointer": lambda y: y.data_ptr(),
    "dlpack": lambda y: np.from_dlpack(y),
    "shape": lambda y: y.nonzero(),
    "asked": lambda y: torch._dynamo.graph_break(),
}


LENT = "memory that is shared with others"  # numpy() and its like gave it away


@pytest.mark.parametrize("read", READS)
def test_breaks(read):
    def f(x):
        y = x * 2
        READS[read](y)  # the line
        return y + 1

    line = inspect.getsourcelines(f)[1] + 2
    reading = inspect.getsourcelines(READS[read])[1]
    x = torch.ones(3)
    e = torch._dynamo.explain(f)(x)
    assert e.graph_break_count == 1 and e.ops_per_graph[0][0] is torch.ops.aten.mul.Tensor
    assert e.ops_per_graph[1:] == [[torch.ops.aten.add.Tensor]] or ("aten::add.Tensor", LENT) in e.at_once
    (reason,) = e.break_reasons
    assert reason.user_stack[0].filename == __file__ and reason.user_stack[0].lineno in (line, reading)
    whole = torch.compile(f, fullgraph=True)
    for _ in range(3):
        if read in ("item", "float", "shape"):  # as PyTorch has it
            assert torch.equal(whole(x), x * 2 + 1)
            continue
        with pytest.raises(
            exc.Unsupported, match=rf"fullgraph=True: (?s:.)*test_frontend.py\", line ({line}|{reading})"
        ):
            whole(x)
    free = torch.compile(f)
    for _ in range(3):
        assert torch.equal(free(x), x * 2 + 1)


def test_whole_functions_have_no_breaks():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3), torch.nn.Dropout(0.1))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def f(x, ids):
        loss = (layer(x)[ids].relu() ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(f, fullgraph=True)
    for _ in range(3):
        compiled(torch.ones(2, 3), torch.tensor([0, 1]))
    e = torch._dynamo.explain(f)(torch.ones(2, 3), torch.tensor([0, 1]))
    assert not e.break_reasons and e.graph_count == 1 and "Graph Break Count: 0" in str(e)
    assert any("draws random numbers" in why for _, why in e.at_once)


def test_disable():
    seen = []

    @torch.compiler.disable
    def outside(x):
        seen.append(torch.compiler.is_compiling())
        return x * 3

    def f(x):
        seen.append(torch.compiler.is_compiling() and torch._utils.is_compiling())
        return outside(x + 1) + 1

    compiled = torch.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 7.0))
    assert seen == [True, False] * 3 and not torch.compiler.is_compiling()
    e = torch._dynamo.explain(f)(torch.ones(2))
    assert torch.ops.aten.mul.Tensor not in sum(e.ops_per_graph, [])


def test_explained_graphs_compute():
    def f(x):
        y = x.sin()
        if y.sum() > 0:
            y = y + 1
        return y.t().cos() * 2

    x = torch.ones(2, 3)
    e = torch._dynamo.explain(f)(x)
    assert (e.graph_count, e.graph_break_count, e.op_count) == (2, 1, 6) and len(e.graphs) == len(e.ops_per_graph) == 2
    assert [str(op) for op in e.ops_per_graph[1]] == ["aten.add.Tensor", "aten.cos.default", "aten.mul.Tensor"]
    values = e.graphs[0](x)
    assert torch.equal(values[0], x.sin()) and bool(values[-1])
    assert torch.equal(e.graphs[1](values[0])[0], f(x))
    assert "Graph Count: 2" in str(e) and "    aten.sin.default\n" in str(e)


def test_reset_and_stances():
    compiled = torch.compile(plus)
    x = torch.ones(2)
    compiled(x)

    def deferred():
        before = counts["deferred"]
        assert torch.equal(compiled(x), plus(x))
        return counts["deferred"] - before

    assert deferred() == 2
    torch.compiler.reset()
    assert deferred() == 0 and deferred() == 2
    with torch.compiler.set_stance("force_eager"):
        assert deferred() == 0
    assert deferred() == 2
    with pytest.raises(NotImplementedError, match="set_stance\\('eager_then_compile'\\)"):
        torch.compiler.set_stance("eager_then_compile")

    @torch.compiler.set_stance("force_eager")
    def inner():
        return deferred()

    assert inner() == 0 and deferred() == 2


def test_module_compile():
    module = torch.nn.Linear(2, 2)
    module.compile(backend="eager", fullgraph=True)
    before = counts["calls"]
    for _ in range(2):
        assert torch.equal(module(torch.ones(1, 2)), module.forward(torch.ones(1, 2)))
    assert counts["calls"] == before + 2
    with pytest.raises(exc.InvalidBackend):
        module.compile(backend="nope")


def test_status():
    compiled = torch.compile(lambda x: (x + 1).item() + torch.rand(1))
    compiled(torch.ones(1)), compiled(torch.ones(1))
    status = shim_torch_proxy.torch_proxy_status()["compile"]
    assert status["calls"] > 0 and status["deferred"] > 0
    assert any(operator.startswith("aten::rand") or "uniform" in operator for operator, _ in status["at_once_because"])
    assert any(place.startswith(__file__) for _, place in status["breaks"])


def test_a_thread_that_starts_in_the_call():
    results = []

    def starts_one(x):
        y = x + 1
        other = threading.Thread(target=lambda: results.append((y * 2).tolist()))
        other.start()
        other.join()
        return y * 3

    compiled = torch.compile(starts_one)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [6.0, 6.0]
    assert results == [[4.0, 4.0]] * 3


@pytest.mark.parametrize(
    ("setting", "f", "kept"),
    [
        ("capture_dynamic_output_shape_ops", lambda x: (x + 1)[(x > 0).nonzero()[:, 0]] * 2, False),
        ("capture_dynamic_output_shape_ops", lambda x: (x + 1).repeat_interleave(x.abs().long()) * 2, False),
        ("capture_scalar_outputs", lambda x: x * int(x.sum()) + float(x[0]) + x[1].item(), False),
        ("capture_scalar_outputs", lambda x: x * 2 if x.sum() > 0 else x, True),
        ("capture_scalar_outputs", lambda x: x * x.tolist()[0], True),
    ],
)
def test_settings_that_let_a_graph_go_on(setting, f, kept):
    """Shapes that depend on values, and numbers that are read, are no breaks where a setting says so; what decides still is one."""
    given = [torch.tensor([1.0, 2.0, -3.0]), torch.tensor([2.0, 5.0, 4.0, 1.0]), torch.tensor([3.0, -1.0])]
    compiled = torch.compile(f, fullgraph=True)
    if kept:
        with torch._dynamo.config.patch({setting: True}), pytest.raises(torch._dynamo.exc.Unsupported):
            compiled(given[0])
        return
    for _ in range(3):
        for x in given:
            assert torch.equal(compiled(x), f(x))
    assert torch._dynamo.explain(f)(given[0]).break_reasons
    with torch._dynamo.config.patch({setting: True}):
        for x in given:
            assert torch.equal(torch.compile(f)(x), f(x))
        assert not torch._dynamo.explain(f)(given[0]).break_reasons


SQUARE = torch.eye(3) * 2
OWN_READS = {
    "cholesky": lambda x: torch.linalg.cholesky(x),
    "inv": torch.linalg.inv,
    "solve": lambda x: torch.linalg.solve(x, x),
    "lu": lambda x: torch.linalg.lu(x)[2],
    "matrix_exp": torch.matrix_exp,
    "quantile": lambda x: x.quantile(0.5),
    "multinomial": lambda x: torch.multinomial(x, 2),
    "geometric_": lambda x: x.clone().geometric_(0.5),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2])),
    "embedding_bag": lambda x: F.embedding_bag(torch.tensor([[0, 1], [2, 0]]), x),
    "rrelu": lambda x: F.rrelu(x, training=True),
}


@pytest.mark.parametrize("name", OWN_READS)
def test_operators_may_look_at_values_for_themselves(name):
    """It is no break of the function's graph: the graph has the operator."""

    def f(x):
        return OWN_READS[name](x * 2) + 1

    compiled = torch.compile(f, fullgraph=True)
    for seed in range(3):
        torch.manual_seed(seed)
        wanted = f(SQUARE)
        torch.manual_seed(seed)
        assert torch.equal(compiled(SQUARE), wanted)
    assert not torch._dynamo.explain(f)(SQUARE).break_reasons
