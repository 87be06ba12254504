"""torch.library: schemas from annotations, custom operators, kernels by key, and taking it all back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from table import f, tensor, values

import shim_torch
import shim_torch as torch
from shim_torch import autograd, library
from shim_torch._impl.native import _core
from shim_torch._ops import ops

Tensor = _core.Tensor
dtype, device = _core.dtype, _core.device


class TestInferSchema:
    def test_types(self):
        def fn(
            x: Tensor, y: Tensor | None, n: int, z: list[Tensor], zz: Sequence[Tensor | None],
            s: float = 1.5, b: bool = False,
            *, name: str = "q", d: dtype = _core.float32, dev: device | None = None, sc: int | float | bool = 3,
            u: int | None = None,
        ) -> tuple[Tensor, int]: ...  # fmt: skip

        assert library.infer_schema(fn, mutates_args=("x",)) == (
            "(Tensor(a0!) x, Tensor? y, SymInt n, Tensor[] z, Tensor?[] zz, float s=1.5, bool b=False, *, "
            'str name="q", ScalarType d=float32, Device? dev=None, Scalar sc=3, SymInt? u=None) -> (Tensor, SymInt)'
        )

    def test_unknown_mutation(self):
        def fn(x: Tensor, y: Tensor | None = None, l: list[int] = None) -> None: ...

        assert library.infer_schema(fn, mutates_args="unknown", op_name="a::b") == (
            "a::b(Tensor(a0!) x, Tensor(a1!)? y=None, SymInt[] l=None) -> ()"
        )

    def test_refusals(self):
        def untyped(x) -> Tensor: ...
        def no_return(x: Tensor): ...
        def bad(x: dict) -> Tensor: ...
        def many(x: Tensor, *rest) -> Tensor: ...
        def bad_return(x: Tensor) -> dict: ...

        for function, message in [
            (untyped, "Parameter x must have a type annotation"),
            (no_return, "No return type annotation was provided"),
            (bad, "Parameter x has unsupported type"),
            (many, "We do not support positional-only args, varargs, or varkwargs"),
            (bad_return, "Return has unsupported type"),
        ]:
            with pytest.raises(ValueError, match=message):
                library.infer_schema(function, mutates_args=())
        with pytest.raises(ValueError, match="in mutates_args were not found"):
            library.infer_schema(bad_return, mutates_args={"q"})


class TestCustomOp:
    def test_call_and_schema(self):
        @library.custom_op("tst_lib::scale", mutates_args=())
        def scale(x: Tensor, k: float = 2.0) -> Tensor:
            return f.add(x, x, alpha=k - 1)

        x = tensor([1, 2])
        assert repr(scale) == "<CustomOpDef(tst_lib::scale)>"
        assert str(scale._opoverload._schema) == "tst_lib::scale(Tensor x, float k=2.) -> Tensor"
        assert values(scale(x)) == [2, 4] and values(ops.tst_lib.scale(x, k=3.0)) == [3, 6]

        meta = _core.empty_raw((2,), _core.float32, _core.device("meta"))
        with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
            scale(meta)

        @scale.register_fake
        def _(x, k=2.0):
            return _core.empty_raw(x.shape, x.dtype, x.device)

        assert scale(meta).device.type == "meta"

    def test_results_must_not_alias(self):
        @library.custom_op("tst_lib::same", mutates_args=())
        def same(x: Tensor) -> Tensor:
            return x

        with pytest.raises(RuntimeError, match=r"The output of this custom operator \(1\) must not also be an input"):
            same(tensor([1]))

    def test_mutation_counts_as_a_write(self):
        written = []

        @library.custom_op("tst_lib::fill", mutates_args=("x",))
        def fill(x: Tensor, value: float) -> None:
            written.append(value)

        x = tensor([1, 2])
        before = x._version
        assert fill(x, 3.0) is None and written == [3.0] and x._version == before + 1

    def test_kernel_by_device(self):
        @library.custom_op("tst_lib::where_am_i", mutates_args=(), device_types="cuda")
        def where_am_i(x: Tensor) -> int:
            return 1

        with pytest.raises(
            NotImplementedError, match="Could not run 'tst_lib::where_am_i' with arguments from the 'CPU' backend"
        ):
            where_am_i(tensor([1]))

        @where_am_i.register_kernel("cpu")
        def _(x):
            return 2

        assert where_am_i(tensor([1])) == 2

    def test_gradient(self):
        @library.custom_op("tst_lib::times", mutates_args=())
        def times(x: Tensor, k: float) -> Tensor:
            return f.mul(x, k)

        x = tensor([1, 2]).requires_grad_()
        with pytest.raises(
            RuntimeError, match="Trying to backward through tst_lib.times.default but no autograd formula"
        ):
            autograd.grad([times(x, 3.0)], [x], [tensor([1, 1])])

        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        times.register_autograd(lambda ctx, g: (f.mul(g, ctx.k), None), setup_context=setup_context)
        (grad,) = autograd.grad([times(x, 3.0)], [x], [tensor([1, 10])])
        assert values(grad) == [3, 30]

    def test_gradient_through_lists(self):
        @library.custom_op("tst_lib::doubled", mutates_args=())
        def doubled(xs: list[Tensor]) -> list[Tensor]:
            return [f.mul(x, 2) for x in xs]

        doubled.register_autograd(lambda ctx, gs: ([f.mul(g, 2) for g in gs],))
        x, y = tensor([1]).requires_grad_(), tensor([5]).requires_grad_()
        result = doubled([x, y])
        assert type(result) is list and [values(t) for t in result] == [[2], [10]]
        grads = autograd.grad(result, [x, y], [tensor([1]), tensor([10])])
        assert [values(g) for g in grads] == [[2], [20]]

    def test_triton_op(self):
        @library.triton_op("tst_lib::tri", mutates_args={})
        def tri(x: Tensor) -> Tensor:
            return f.add(x, 1)

        kernel = object()
        assert library.wrap_triton(kernel) is kernel
        assert values(tri(tensor([1]))) == [2]


class TestLibrary:
    def test_define_impl_destroy(self):
        lib = library.Library("tst_def", "DEF")
        assert lib.define("foo(Tensor x, *, int n=1) -> Tensor") == "foo"
        assert lib.define("foo.over(Tensor x, int k) -> Tensor") == "foo.over"
        x = tensor([1, 2])
        with pytest.raises(
            NotImplementedError, match="Could not run 'tst_def::foo' with arguments from the 'CPU' backend"
        ):
            ops.tst_def.foo(x)
        lib.impl("foo", lambda x, *, n: f.add(x, n), "CPU")
        lib.impl("foo.over", lambda x, k: f.add(x, -k), "CompositeExplicitAutograd")
        assert values(ops.tst_def.foo(x, n=4)) == [5, 6]
        assert values(ops.tst_def.foo(x, 1)) == [0, 1]
        with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
            lib.define("foo(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            library.Library("tst_def", "DEF")
        lib._destroy()
        with pytest.raises(AttributeError, match="'_OpNamespace' 'tst_def' object has no attribute 'foo'"):
            ops.tst_def.foo
        library.Library("tst_def", "DEF")._destroy()

    def test_override_of_a_table_operator(self):
        x = tensor([1.0])
        lib = library.Library("tst", "IMPL")
        lib.impl("tanh", lambda self: f.add(self, 41), "CPU")
        assert values(f.tanh(x)) == [42]
        lib._destroy()
        assert values(f.tanh(x)) != [42]

    def test_impl_before_define(self):
        early = library.Library("tst_early", "IMPL")
        early.impl("bar", lambda x: f.add(x, 1), "CPU")
        lib = library.Library("tst_early", "FRAGMENT")
        lib.define("bar(Tensor x) -> Tensor")
        assert values(ops.tst_early.bar(tensor([1]))) == [2]
        lib._destroy()
        early._destroy()

    def test_module_functions(self):
        library.define("tst_mod::f", "(Tensor x) -> Tensor")

        @library.impl("tst_mod::f", "cpu")
        def _(x):
            return f.add(x, 2)

        @library.register_fake("tst_mod::f")
        def _(x):
            return _core.empty_raw(x.shape, x.dtype, x.device)

        assert values(ops.tst_mod.f(tensor([1]))) == [3]
        assert ops.tst_mod.f(_core.empty_raw((5,), _core.float32, _core.device("meta"))).shape == (5,)


def test_register_vmap_and_autocast():
    from shim_torch.library import custom_op, register_vmap

    @custom_op("shim_batch::mul", mutates_args=())
    def mul(x: shim_torch.Tensor, y: shim_torch.Tensor) -> shim_torch.Tensor:
        seen.append(x.dtype)
        return x * y

    seen: list = []
    told = []

    @mul.register_vmap
    def _(info, in_dims, x, y):
        told.append((info.batch_size, info.randomness, in_dims))
        return mul(x.movedim(in_dims[0], -1), y.unsqueeze(-1)), -1

    out = shim_torch.vmap(mul, (0, None))(shim_torch.ones(3, 2), shim_torch.arange(2.0))
    assert out.tolist() == [[0.0, 1.0]] * 3 and told == [(3, "error", (0, None))]
    mul.register_autocast("cpu", shim_torch.bfloat16)
    with shim_torch.autocast("cpu"):
        assert mul(shim_torch.ones(2), shim_torch.ones(2)).dtype == shim_torch.bfloat16
    assert seen[-1] == shim_torch.bfloat16 and mul(shim_torch.ones(2), shim_torch.ones(2)).dtype == shim_torch.float32
    with pytest.raises(ValueError, match=r"register_vmap\(3\): got unexpected type for op: <class 'int'>"):
        register_vmap(3, lambda: None)
    register_vmap("shim_batch::mul", lambda info, in_dims, x, y: x)
    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        shim_torch.vmap(mul, (0, None))(shim_torch.ones(3, 2), shim_torch.arange(2.0))


def test_a_library_ends_with_its_last_reference():
    lib = library.Library("aten", "IMPL", "CPU")
    lib.impl("sum", lambda x, dtype=None: x.clone())
    x = shim_torch.tensor([1, 2])
    assert shim_torch.sum(x).tolist() == [1, 2]
    del lib
    assert shim_torch.sum(x).item() == 3
    own = library.Library("shim_gone", "DEF")
    own.define("f(Tensor x) -> Tensor")
    del own
    library.Library("shim_gone", "DEF")._destroy()


def test_a_library_keeps_to_its_namespace_and_key():
    own = library.Library("shim_strict", "DEF")
    own.define("neg(Tensor self) -> Tensor")
    with pytest.raises(
        RuntimeError, match=r'impl\("aten::neg", ...\): Explicitly provided namespace \(aten\) in operator name'
    ):
        own.impl(ops.aten.neg.default, lambda x: x, "AutogradCPU")
    lib = library.Library("aten", "IMPL", "CPU")
    with pytest.raises(
        RuntimeError, match=r"dispatch key \(Conjugate\) is inconsistent with the dispatch key of the enclosing"
    ):
        lib.impl("sum", lambda x: x, "Conjugate")


def test_kernels_as_objects():
    kernel = torch.library.get_kernel("aten::add.Tensor", "CPU")
    x = torch.ones(2, requires_grad=True)
    found = kernel.call_boxed(None, x, torch.ones(2), alpha=3)
    assert (found.tolist(), found.requires_grad) == ([4.0, 4.0], False)
    with pytest.raises(RuntimeError, match="operator aten::nope does not exist"):
        torch.library.get_kernel("aten::nope", "CPU")
    with pytest.raises(ValueError, match="Invalid dispatch key: FOO"):
        torch.library.get_kernel("aten::add.Tensor", "FOO")
    with pytest.raises(RuntimeError, match="no kernel for XLA for aten::add.Tensor"):
        torch.library.get_kernel("aten::add.Tensor", "XLA")


def test_an_argument_may_hold_itself():
    lib = library.Library("itself", "FRAGMENT")
    lib.define("echo(Any a) -> Any")
    lib.impl("echo", lambda a: a, "CompositeExplicitAutograd")
    for a in ([], {}):
        a.append(a) if isinstance(a, list) else a.update(own=a)
        assert ops.itself.echo(a) is a
    lib._destroy()
