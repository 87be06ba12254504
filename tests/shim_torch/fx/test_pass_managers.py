"""torch.fx.operator_schemas and torch.fx.passes.infra: calls in normal form, passes and their order."""

from __future__ import annotations

from typing import Any

import pytest

import shim_torch as torch


def test_normal_form_of_calls():
    from shim_torch.fx import operator_schemas as s

    x = torch.ones(2)
    assert s.normalize_function(torch.add, (x, x), {}, (torch.Tensor, torch.Tensor), {}) == ((x, x), {"alpha": 1})
    assert s.normalize_function(torch.relu, ("x",), normalize_to_only_use_kwargs=True) == ((), {"input": "x"})
    found = s.normalize_function(torch.nn.functional.dropout, ("x", 0.3))
    assert found == (("x", 0.3), {"training": True, "inplace": False})
    assert s.normalize_function(torch.ops.aten.softmax.int, ("x", 1)) == (("x", 1), {"dtype": None})
    with pytest.raises(RuntimeError, match="schema match was ambiguous"):
        s.normalize_function(torch.add, (1, 2))
    assert str(s.get_signature_for_torch_op(torch.ops.aten.relu.default)[0]) == "(input: torch.Tensor) -> torch.Tensor"
    assert s.get_signature_for_torch_op(len) is None
    assert s.type_matches(list[int], int) and s.type_matches(list[int], tuple[int, ...])
    assert s.type_matches(int, torch.dtype) and not s.type_matches(int, str)
    assert s.create_type_hint([int, bool]) == list[int] and s.create_type_hint((int, str)) == tuple[Any, ...]
    with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::relu_"):
        s.check_for_mutable_operation(torch.ops.aten.relu_.default, (x,), {})
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    assert s.normalize_module(model, "0", ("x",), normalize_to_only_use_kwargs=True) == ((), {"input": "x"})
    with pytest.raises(RuntimeError, match="root did not have that target"):
        s.normalize_module(model, "1", ("x",))
    graph = torch.fx.symbolic_trace(model).graph
    call = next(n for n in graph.nodes if n.op == "call_module")
    assert list(call.normalized_arguments(model, normalize_to_only_use_kwargs=True).kwargs) == ["input"]


def test_passes():
    from shim_torch.fx.passes.infra.pass_base import PassBase, PassResult
    from shim_torch.fx.passes.infra.pass_manager import (
        PassManager,
        pass_result_wrapper,
        this_before_that_pass_constraint,
    )

    class AddToMul(PassBase):
        def call(self, gm):
            found = [n for n in gm.graph.nodes if n.target is torch.add]
            for node in found:
                node.target = torch.mul
            gm.recompile()
            return PassResult(gm, bool(found))

    ran = []

    def note(gm):
        ran.append("note")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.add(x, x)

    first, second = AddToMul(), pass_result_wrapper(note)
    gm, changed = PassManager([second, first], [this_before_that_pass_constraint(first, second)], steps=3)(
        torch.fx.symbolic_trace(Model())
    )
    assert changed and gm(torch.full((2,), 3.0)).tolist() == [9, 9] and ran
    circle = PassManager(
        [first, second],
        [this_before_that_pass_constraint(first, second), this_before_that_pass_constraint(second, first)],
    )
    with pytest.raises(RuntimeError, match="Circular dependency"):
        circle.solve_constraints()
    with pytest.raises(RuntimeError, match=r"but found .*first.* at index 0 and .*second.* at index 0 in pass list"):
        PassManager(["first", "second"], [lambda a, b: (a, b) != ("first", "second")]).validate_constraints()


def test_passes_that_fail_or_change_nothing():
    from shim_torch.fx.passes.infra.pass_base import PassResult
    from shim_torch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper

    ran = []

    def same(gm):
        ran.append("same")
        return PassResult(gm, False)

    def changes(gm):
        ran.append("changes")
        return PassResult(gm, True)

    def nothing(gm):
        return None

    for passes, steps, changed, order in (
        ([same], 3, False, ["same"]),
        ([changes], 3, True, ["changes"] * 3),
        ([same, changes, same], 2, True, ["same", "changes", "same"] * 2),
    ):
        ran.clear()
        assert PassManager(passes, steps=steps)("module") == ("module", changed) and ran == order
    checked = PassManager([same, changes], run_checks_after_each_pass=True)
    checked.add_checks(lambda module: ran.append("check"))
    ran.clear()
    checked("module")
    assert ran == ["check", "same", "check", "changes", "check"]
    with pytest.raises(
        Exception, match=r"An error occurred when running the 'nothing' .* passes: \['same'\]"
    ) as caught:
        PassManager([same, nothing])("module")
    assert type(caught.value) is Exception and isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(TypeError, match="check function should only take in one variable"):
        PassManager().add_checks(lambda a, b: None)
    wrapped = pass_result_wrapper(nothing)
    assert wrapped.__name__ == "nothing" and wrapped("module") == ("module", True) and pass_result_wrapper(None) is None
    assert pass_result_wrapper(lambda gm: 3)("module") is None and pass_result_wrapper(same)("module") == (
        "module",
        False,
    )
