"""torch.library's checks: opcheck, SchemaCheckMode, what registrations refuse, kernels with key sets."""

from typing import List  # noqa: UP035

import pytest

import shim_torch as torch
from shim_torch._subclasses.schema_check_mode import SchemaCheckMode
from shim_torch.autograd._functions.utils import maybe_unexpand, maybe_view
from shim_torch.library import Library, custom_op, infer_schema, opcheck, register_autograd, register_fake

ALL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.fixture
def lib():
    library = Library("library_checks", "FRAGMENT")
    yield library
    library._destroy()


def _sine(name, fake=True):
    @custom_op(f"library_checks::{name}", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    if fake:
        sine.register_fake(lambda x: torch.empty_like(x))
    sine.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    return sine


def test_opcheck_of_a_sound_operator():
    assert opcheck(_sine("sound"), (torch.ones(3, requires_grad=True),)) == dict.fromkeys(ALL, "SUCCESS")


def test_opcheck_names_what_is_wrong(lib):
    found = opcheck(_sine("no_fake", fake=False), (torch.ones(3),), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" and "no fake impl registered" in str(found["test_faketensor"])
    lib.define("writes(Tensor x) -> Tensor")
    lib.impl("writes", lambda x: x.add_(1).clone(), "CPU")
    lib.impl("writes", lambda x: torch.empty_like(x), "Meta")
    with pytest.raises(
        Exception, match="test_schema failed with Argument x is not defined as mutable but was mutated"
    ) as error:
        opcheck(torch.ops.library_checks.writes.default, (torch.ones(3),))
    assert type(error.value).__name__ == "OpCheckError"
    lib.define("shares(Tensor x) -> Tensor")
    lib.impl("shares", lambda x: x, "CPU")
    found = opcheck(torch.ops.library_checks.shares, (torch.ones(3),), test_utils="test_schema", raise_exception=False)
    assert "Argument x is not defined to alias output but was aliasing" in str(found["test_schema"])


def test_opcheck_finds_gradients_at_the_wrong_key_and_wrong_shapes(lib):
    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    lib.define("misplaced(Tensor x) -> Tensor")
    lib.impl("misplaced", Copy.apply, "CPU")
    lib.impl("misplaced", lambda x: x.new_empty(7), "Meta")
    operator = torch.ops.library_checks.misplaced.default
    found = opcheck(operator, (torch.ones(3, requires_grad=True),), raise_exception=False)
    assert isinstance(found["test_autograd_registration"], AssertionError)
    assert "found mismatched tensor metadata: Shapes torch.Size([3]) and torch.Size([7])" in str(
        found["test_faketensor"]
    )


def test_opcheck_refuses():
    with pytest.raises(ValueError, match="op must be instance of torch._ops.OpOverload"):
        opcheck(lambda x: x, (1,))
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        opcheck(torch.ops.aten.sin.default, (torch.ones(1),), test_utils="test_nothing")


def test_schema_check_mode_keeps_account():
    with SchemaCheckMode() as mode:
        x = torch.ones(4)
        x.view(2, 2).add_(1)
    assert mode.ops == ["aten::ones", "aten::view", "aten::add_"]
    assert ("aten::add_", "input") in mode.mutated and mode.aliasing[0][:2] == ("aten::view", "input")


def test_gradients_flow_through_a_list_within_the_results():
    @custom_op("library_checks::parts", mutates_args=())
    def parts(x: torch.Tensor, n: int) -> tuple[List[torch.Tensor], int]:  # noqa: UP006
        return [t.clone() for t in x.chunk(n)], n

    given = []

    def backward(ctx, grads, count):
        given.append((type(grads), count))
        return torch.cat(grads), None

    parts.register_autograd(backward)
    x = torch.arange(4.0, requires_grad=True)
    (first, second), n = parts(x, 2)
    assert n == 2 and second.grad_fn.name() == "GeneratedBackwardFor_library_checks_parts_defaultBackward"
    (first.sum() + (second * 3).sum()).backward()
    assert x.grad.tolist() == [1, 1, 3, 3] and given == [(list, None)]


def test_what_registrations_refuse(lib):
    with pytest.raises(RuntimeError, match="could not parse dispatch key: NOKEY"):
        lib.define("one(Tensor x) -> Tensor") and lib.impl("one", lambda x: x, "NOKEY")
    lib.impl("one", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding one's behavior for CPU"):
        lib.impl("one", lambda x: x, "CPU", allow_override=False)
    with pytest.raises(ValueError, match=r"register_fake\(3\): got unexpected type for op"):
        register_fake(3, lambda x: x)
    with pytest.raises(RuntimeError, match="operator library_checks::nowhere does not exist"):
        register_fake("library_checks::nowhere", lambda x: x)
    lib.define("seen(Tensor(a) x) -> Tensor(a)")
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        register_autograd("library_checks::seen", lambda ctx, g: g)
    lib.define("named(Tensor x, *, Tensor y) -> Tensor")
    with pytest.raises(NotImplementedError, match="register_autograd with kwarg-only Tensor args"):
        register_autograd("library_checks::named", lambda ctx, g: g)


def test_kernels_get_key_sets_and_results_are_checked(lib):
    lib.define("keyed(Tensor x) -> Tensor")
    lib.impl("keyed", lambda keys, x: x + keys.has("CPU"), "CPU", with_keyset=True)
    assert torch.ops.library_checks.keyed(torch.ones(1)).tolist() == [2.0]
    lib.define("number(Tensor x) -> Tensor")
    lib.impl("number", lambda x: 3, "CPU")
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        torch.ops.library_checks.number(torch.ones(1))


def test_custom_op_refuses():
    with pytest.raises(ValueError, match="mutates_args must either be a sequence of the names"):
        infer_schema(lambda x: x, mutates_args="x")
    with pytest.raises(ValueError, match="The schema suggests that the op mutates"):
        custom_op("library_checks::odd", lambda x: x, mutates_args=("x",), schema="(Tensor x) -> Tensor")

    def wrong(x: dict) -> List[torch.Tensor]:  # noqa: UP006
        return [x]

    with pytest.raises(
        ValueError, match=r"unsupported type <class 'dict'>. The valid types are: dict_keys\(\[<class 'torch.Tensor'>"
    ):
        infer_schema(wrong, mutates_args=())

    def factory(n: int) -> torch.Tensor:
        return torch.ones(n)

    with pytest.raises(
        ValueError, match="Functions without tensor inputs are required to have a `device: torch.device` argument"
    ):
        custom_op("library_checks::factory", factory, mutates_args=(), device_types="cpu")


@pytest.mark.parametrize(
    ("device_type", "error", "text"),
    [
        (3, ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"),
        ("cuda:0", RuntimeError, "Expected device_type string to not have a device index; got cuda:0"),
        ("foo", RuntimeError, "Expected one of cpu, cuda"),
    ],
)
def test_autocast_is_registered_for_a_type_of_device(device_type, error, text):
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    operator = custom_op("library_checks::twice", twice, mutates_args=())
    with pytest.raises(error, match=text):
        operator.register_autocast(device_type, torch.bfloat16)


def test_sizes_of_gradients():
    assert maybe_unexpand(torch.ones(2, 3), (3,)).tolist() == [2.0, 2.0, 2.0]
    assert maybe_view(torch.ones(4), (2, 2)).shape == (2, 2)


def test_lists_of_conjugates():
    x = torch.tensor([1 + 2j])
    assert torch._conj_physical(x).tolist() == [1 - 2j] and not torch._conj_physical(x).is_conj()
    assert torch._foreach_mul([x.conj()], 2)[0].tolist() == [2 - 4j]
    with pytest.raises(
        RuntimeError, match="fallback doesn't currently support mutable TensorLists with conjugate inputs"
    ):
        torch._foreach_add_([x.conj()], 1)


def test_reading_an_overlapping_view_is_no_write():
    from shim_torch._subclasses.schema_check_mode import SchemaCheckMode

    with SchemaCheckMode() as mode:
        torch.arange(6.0).reshape(2, 3)[:, 1].mul(torch.ones(1).expand(2))
    assert not mode.mutated
    with SchemaCheckMode():
        torch.linalg.cross(torch.randn(4, 3), torch.randn(4, 3))


def test_operators_that_write_and_give_nothing_need_no_fake():
    with torch.library._scoped_library("writes_only", "FRAGMENT") as lib:
        lib.define("fill(Tensor(a!) x, int n) -> ()")
        lib.impl("fill", lambda x, n: (x.fill_(n), None)[1], "CPU")
        opcheck(torch.ops.writes_only.fill.default, (torch.ones(2), 3), test_utils=["test_schema", "test_faketensor"])
