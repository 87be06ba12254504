"""Calls through the operator table: binding, errors in PyTorch's words, variants and history."""

import pickle
import re
import warnings

import numpy as np
import pytest
from table import f, method, tensor, values

from shim_torch import autograd
from shim_torch._impl.native import _core
from shim_torch._ops import ops


@pytest.fixture
def x():
    return tensor([[1, 2, 3], [4, 5, 6]])


class TestBinding:
    def test_function_and_method(self, x):
        assert values(f.tanh(x)) == np.tanh(_core.to_numpy(x)).tolist()
        assert values(method("add")(x, x)) == [[2, 4, 6], [8, 10, 12]]

    def test_keywords_and_numpy_words(self, x):
        assert values(f.sum(input=x, axis=0, keepdims=True)) == [[5, 7, 9]]
        assert values(f.sum(x, dim=1)) == [6, 15]
        assert values(f.add(x, other=1, alpha=10)) == [[11, 12, 13], [14, 15, 16]]
        assert values(f.add(x=x, x2=x)) == [[2, 4, 6], [8, 10, 12]]

    def test_overloads_in_declaration_order(self, x):
        assert values(f.sum(x)) == 21
        assert values(f.sum(x, 0)) == [5, 7, 9]
        assert values(f.sum(x, (0, 1))) == 21

    def test_varargs(self, x):
        assert method("reshape")(x, 3, 2) == (3, 2)
        assert method("reshape")(x, -1) == (-1,)
        assert method("reshape")(x, [3, 2]) == (3, 2)
        assert f.zeros(2, 3).shape == (2, 3)
        assert f.zeros(()).shape == ()

    def test_numpy_and_zero_dim_values(self, x):
        assert f.seen(x, np.int64(3), np.float32(0.25), np.bool_(True)) == [(3, 3), 0.25, True, None]
        assert f.seen(x, tensor(2, np.int64)) == [(2, 2), 0.5, False, None]
        assert f.scalar(x, np.float64(1.5)) == 1.5
        assert type(f.scalar(x, np.int32(4))) is int
        assert f.scalar(x, tensor(2.5)) == 2.5
        assert f.scalar(x, True) is True

    def test_defaults_and_dtypes(self, x):
        assert f.seen(x) == [(0, 0), 0.5, False, None]
        assert f.seen(x, p=2)[1] == 2.0
        assert type(f.seen(x, p=2)[1]) is float
        assert f.seen(x, dtype=float)[3] is _core.float64
        assert f.seen(x, dtype=int)[3] is _core.int64
        assert f.seen(x, dtype=bool)[3] is _core.bool

    def test_tensor_lists(self, x):
        given, dim = f.cat((x, x), axis=1)
        assert type(given) is list and given == [x, x] and dim == 1

    def test_names(self):
        assert f.add.__name__ == "add" and f.add.__module__ == "torch"
        assert method("add").__name__ == "add" and method("add").__qualname__ == "TensorBase.add"
        assert repr(method("add")) == "<method 'add' of 'torch._C.TensorBase' objects>"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: f.sum("a"), "sum(): argument 'input' (position 1) must be Tensor, not str"),
        (lambda x: f.tanh(1), "tanh(): argument 'input' (position 1) must be Tensor, not int"),
        (lambda x: f.tanh(), 'tanh() missing 1 required positional arguments: "input"'),
        (lambda x: f.tanh(x, x), "tanh() takes 1 positional argument but 2 were given"),
        (lambda x: f.tanh(x, foo=1), "tanh() got an unexpected keyword argument 'foo'"),
        (lambda x: f.tanh(x, input=x), "tanh() got multiple values for argument 'input'"),
        (lambda x: f.tanh(input=x, out=3), "tanh(): argument 'out' must be Tensor, not int"),
        (lambda x: f.add(x, None), "add(): argument 'other' (position 2) must be Tensor, not NoneType"),
        (lambda x: f.add(x, x, alpha=None), "add(): argument 'alpha' must be Number, not NoneType"),
        (lambda x: f.add(x, x, 1), "add() takes 2 positional arguments but 3 were given"),
        (lambda x: f.cat(x), "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"),
        (lambda x: f.cat([x, 1]), "expected Tensor as element 1 in argument 0, but got int"),
        (lambda x: f.zeros("a"), "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
        (lambda x: f.zeros(2, dtype=3), "zeros(): argument 'dtype' must be torch.dtype, not int"),
        (lambda x: f.seen(x, flag=1), "seen(): argument 'flag' must be bool, not int"),
        (
            lambda x: method("reshape")(x, (1, "a")),
            "reshape(): argument 'shape' failed to unpack the object at pos 2 with error \"type must be "
            'tuple of ints,but got str"',
        ),
        (
            lambda x: f.sum(x, dim="a"),
            "sum() received an invalid combination of arguments - got (Tensor, dim=str), but expected one of:\n"
            " * (Tensor input, *, torch.dtype dtype = None)\n"
            " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, "
            "Tensor out = None)\n",
        ),
        (lambda x: f.max(x, 1, out=(x,)), "expected tuple of 2 elements but got 1"),
    ],
)
def test_binding_errors(x, call, text):
    with pytest.raises(TypeError) as caught:
        call(x)
    assert str(caught.value) == text


class TestRunning:
    def test_low_precision_is_rounded_once(self):
        half = _core.from_numpy(np.array([0.1, 0.2], np.float16))
        result = f.add(half, half)
        assert result.dtype is _core.float16
        assert values(result) == np.float16([0.1 + 0.1, 0.2 + 0.2]).astype(np.float16).tolist()

    def test_result_is_aligned_and_owned(self, x):
        result = f.tanh(tensor(np.ones(1000)))
        assert result.data_ptr() % 64 == 0

    def test_strides_of_pointwise_results_follow_the_input(self):
        t = _core.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3).T)
        assert f.tanh(t).stride() == (1, 3)
        assert f.sum(t, 0).is_contiguous()

    def test_meta(self):
        m = _core.empty_raw((4, 5), _core.bfloat16, _core.device("meta"))
        assert f.sum(m, 1).shape == (4,) and f.sum(m, 1).dtype is _core.bfloat16
        assert f.inferred(m).shape == (8, 5) and f.inferred(m).device.type == "meta"
        taken = f.max(m, 0)
        assert taken.values.shape == (5,) and taken.indices.dtype is _core.int64

    def test_body_against_rule(self, x):
        with pytest.raises(AssertionError, match=r"tst::wrong: the body gave shape \[7\], its rule says \[2, 3\]"):
            f.wrong(x)

    def test_devices_must_agree(self, x):
        m = _core.empty_raw((2, 3), _core.float32, _core.device("meta"))
        with pytest.raises(RuntimeError, match="found at least two devices, cpu and meta!"):
            f.add(x, m)

    def test_no_warnings_from_numpy(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f.add(tensor([np.inf]), tensor([-np.inf]))

    def test_view_of_itself(self, x):
        assert f.itself(x) is x


class TestVariants:
    def test_inplace(self, x):
        before = x._version if hasattr(x, "_version") else None
        assert method("add_")(x, 1) is x
        assert values(x) == [[2, 3, 4], [5, 6, 7]]
        if before is not None:
            assert x._version == before + 1

    def test_a_record_that_writes_self(self, x):
        assert f.fill_(x, 7) is x
        assert values(x) == [[7, 7, 7], [7, 7, 7]]

    def test_inplace_shape_and_dtype(self, x):
        with pytest.raises(
            RuntimeError, match=re.escape("output with shape [3] doesn't match the broadcast shape [2, 3]")
        ):
            method("add_")(f.sum(x, 0), x)

    def test_out(self, x):
        out = f.zeros(2, 3)
        assert f.add(x, x, out=out) is out
        assert values(out) == [[2, 4, 6], [8, 10, 12]]
        assert values(f.add(x, x, out=None)) == [[2, 4, 6], [8, 10, 12]]

    def test_out_is_resized_with_a_warning(self, x):
        empty, wrong = f.zeros(0), f.zeros(3)
        f.add(x, x, out=empty)
        assert empty.shape == (2, 3)
        with pytest.warns(
            UserWarning,
            match=re.escape(
                "was resized since it had shape [3], which does not match the required output shape [2, 3]"
            ),
        ):
            f.add(x, x, out=wrong)
        assert values(wrong) == [[2, 4, 6], [8, 10, 12]]

    def test_out_dtype(self, x):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            f.add(x, x, out=f.zeros(2, 3, dtype=_core.int64))

    def test_several_outs(self, x):
        v, i = f.zeros(2), f.zeros(2, dtype=_core.int64)
        taken = f.max(x, 1, out=(v, i))
        assert taken[0] is v and taken[1] is i and values(v) == [3, 6] and values(i) == [2, 2]

    def test_aliases(self, x):
        assert values(f.plus(x, 1)) == values(f.add(x, 1))
        assert str(ops.tst.plus.Tensor._schema).startswith("tst::plus.Tensor(")


class TestHistory:
    def leaves(self):
        return tensor([1, 2, 3]).requires_grad_(), tensor([2, 3, 4]).requires_grad_()

    def test_inplace_saves_the_value_before_the_write(self):
        x, w = self.leaves()
        y = f.mul(x, 2)
        method("mul_")(y, w)
        grads = autograd.grad([y], [x, w], [tensor([1, 1, 1])])
        assert [values(g) for g in grads] == [[4, 6, 8], [2, 4, 6]]

    def test_inplace_on_a_leaf(self):
        x, w = self.leaves()
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            method("mul_")(x, w)

    def test_out_with_gradients(self):
        x, w = self.leaves()
        with pytest.raises(
            RuntimeError, match=re.escape("mul(): functions with out=... arguments don't support automatic diff")
        ):
            f.mul(x, w, out=tensor([0, 0, 0]))


class TestOps:
    def test_packets_and_overloads(self, x):
        packet = ops.tst.add
        assert packet.overloads() == ["Tensor", "out"]
        assert str(packet.Tensor) == "tst.add.Tensor" and packet.Tensor.name() == "tst::add.Tensor"
        assert packet.Tensor.__name__ == "add.Tensor" and packet.Tensor.namespace == "tst"
        assert repr(packet.Tensor) == "<OpOverload(op='tst.add', overload='Tensor')>"
        assert str(packet.Tensor._schema) == "tst::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
        assert (
            str(packet.out._schema)
            == "tst::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
        )
        assert values(packet.Tensor(x, 1)) == values(packet(x, 1)) == [[2, 3, 4], [5, 6, 7]]
        assert ops.tst.tanh.default is ops.tst.tanh.default
        assert pickle.loads(pickle.dumps(packet.Tensor)) is packet.Tensor

    def test_schema_objects(self):
        alpha = ops.tst.add.Tensor._schema.arguments[2]
        assert (alpha.name, str(alpha.type), alpha.default_value, alpha.kwarg_only) == ("alpha", "number", 1, True)
        out = ops.tst.add.out._schema.arguments[3]
        assert out.alias_info.is_write and out.alias_info.before_set == {"a"}

    def test_errors(self, x):
        with pytest.raises(AttributeError, match="'_OpNamespace' 'tst' object has no attribute 'nothing'"):
            ops.tst.nothing
        with pytest.raises(AttributeError, match="The underlying op of 'tst.add' has no overload name 'nothing'"):
            ops.tst.add.nothing
        with pytest.raises(
            RuntimeError,
            match=re.escape("tst::add() is missing value for argument 'other'. Declaration: tst::add.Tensor("),
        ):
            ops.tst.add.Tensor(x)
        with pytest.raises(OSError, match="libnothing.so"):
            ops.load_library("libnothing.so")


def test_counts(x):
    before = _core.operator_counts().get("tst::tanh", (0, 0))
    f.tanh(x)
    after = _core.operator_counts()["tst::tanh"]
    assert sum(after) == sum(before) + 1
