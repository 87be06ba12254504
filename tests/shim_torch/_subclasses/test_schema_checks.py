"""``SchemaCheckMode``: arguments that share memory, wrappers, statistics of training."""

import pytest

import shim_torch as torch
from shim_torch._subclasses.schema_check_mode import SchemaCheckMode


def test_arguments_that_are_one_tensor_are_written_together():
    x = torch.rand(3, 3)
    with SchemaCheckMode() as seen:
        x.add_(x)
    assert seen.mutated == [("aten::add_", "input"), ("aten::add_", "other")]
    assert seen.aliasing == [("aten::add_", "input", "output_0"), ("aten::add_", "other", "output_0")]


def test_results_that_are_one_tensor():
    out = torch.zeros(3)
    with SchemaCheckMode() as seen:
        torch.aminmax(torch.rand(3, 3), dim=0, out=[out, out])
    assert seen.mutated == [("aten::aminmax", "min"), ("aten::aminmax", "max")]
    assert len(seen.aliasing) == 4


def test_training_writes_to_statistics():
    mean, var = torch.zeros(2), torch.ones(2)
    with SchemaCheckMode():
        torch.nn.functional.batch_norm(torch.rand(4, 2), mean, var, training=True)
    assert mean.sum() != 0


class Wrong(torch.Tensor):
    """A wrapper whose sub writes to its argument and whose add gives it back."""

    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*(a.elem if isinstance(a, cls) else a for a in args), **(kwargs or {}))
        if func._schema.name == "aten::add":
            args[0].elem = result
        if func._schema.name == "aten::sub":
            args[0].elem = result + 1
        return cls(result)


def test_what_wrappers_hold_is_looked_at():
    with (
        SchemaCheckMode(),
        pytest.raises(RuntimeError, match="Argument input is not defined to alias output but was aliasing"),
    ):
        Wrong(torch.rand(3)).add(Wrong(torch.rand(3)))
    with (
        SchemaCheckMode(),
        pytest.raises(RuntimeError, match="Argument input is not defined as mutable but was mutated"),
    ):
        Wrong(torch.rand(3)).sub(Wrong(torch.rand(3)))


def test_an_argument_given_back():
    library = torch.library.Library("schema_checks", "FRAGMENT")
    library.define("itself(Tensor(a) x) -> Tensor(a)")
    library.impl("itself", lambda x: x, "CPU")
    with SchemaCheckMode(), pytest.raises(RuntimeError, match="are not allowed to directly return inputs"):
        torch.ops.schema_checks.itself(torch.rand(3))


def test_overlaps_of_lists():
    x, y = torch.rand(3), torch.rand(3)
    assert torch._C._overlaps([x, y], x) and torch._C._overlaps([x], [y, x[1:]]) and not torch._C._overlaps([x], y)
    assert not torch._C._overlaps([], x) and not torch._C._is_alias_of([], []) and torch._C._is_alias_of([y, x], x[:1])
