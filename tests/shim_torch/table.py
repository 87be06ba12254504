"""Operators of the tests' own namespace, defined once: what calls through the table do, whatever the families hold."""

import importlib

import numpy as np

import shim_torch  # noqa: F401
from shim_torch._impl.native import _core
from shim_torch._impl.table.record import RECORDS, composite, op, view
from shim_torch._impl.table.rules import broadcast, reduced, same, same_dtype

ops = importlib.import_module("shim_torch._impl.table.operators")

FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def promoted(self, other):
    return getattr(self, "dtype", None) or other.dtype


if "tst::tanh" not in RECORDS:

    @op("tst::tanh(Tensor self) -> Tensor", shape=same, dtype=same_dtype, inplace=True, out=True)
    def tanh(xp, self):
        return xp.tanh(self)

    @op(
        "tst::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        shape=broadcast,
        dtype=promoted,
        inplace=True,
        out=True,
        aliases=("plus",),
        numbers="any",
    )
    def add(xp, self, other, alpha):
        return self + alpha * other

    @op(
        "tst::mul.Tensor(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=promoted,
        inplace=True,
        out=True,
        grad={"self": lambda g, other: f.mul(g, other), "other": lambda g, self: f.mul(g, self)},
        numbers="any",
    )
    def mul(xp, self, other):
        return self * other

    @op("tst::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", shape=lambda self: (), dtype=same_dtype)
    def sum_all(xp, self):
        return xp.sum(self)

    @op(
        "tst::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        shape=reduced,
        dtype=same_dtype,
        out=True,
    )
    def sum_dim(xp, self, dim, keepdim):
        return xp.sum(self, axis=dim, keepdims=keepdim)

    @op(
        "tst::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        shape=reduced,
        dtype=lambda self: (self.dtype, [self.dtype, _core.int64]),
        out=True,
    )
    def max_dim(xp, self, dim, keepdim):
        return xp.max(self, axis=dim, keepdims=keepdim), xp.argmax(self, axis=dim, keepdims=keepdim)

    @op(
        f"tst::zeros(SymInt[] size, *, {FACTORY}) -> Tensor",
        shape=lambda size: size,
        dtype=lambda dtype: dtype or _core.get_default_dtype(),
    )
    def zeros(xp, size, dtype):
        return xp.zeros(size, np.int64 if dtype is _core.int64 else np.float64)

    @op("tst::wrong(Tensor self) -> Tensor", shape=same, dtype=same_dtype)
    def wrong(xp, self):
        return xp.zeros((7,))

    @op("tst::inferred(Tensor self) -> Tensor")
    def inferred(xp, self):
        return xp.concatenate([self, self])

    @op("tst::fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)", shape=same, dtype=same_dtype)
    def fill_(xp, self, value):
        return xp.full_like(self, value)

    @composite("tst::seen(Tensor self, int[2] pad=0, float p=0.5, bool flag=False, ScalarType? dtype=None) -> Any[]")
    def seen(self, pad, p, flag, dtype):
        return [pad, p, flag, dtype]

    @composite("tst::scalar(Tensor self, Scalar s) -> Scalar")
    def scalar(self, s):
        return s

    @composite("tst::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
    def reshape(self, shape):
        return shape

    @composite("tst::cat(Tensor[] tensors, int dim=0) -> Tensor")
    def cat(tensors, dim):
        return tensors, dim

    @view("tst::itself(Tensor(a) self) -> Tensor(a)")
    def itself(self):
        return self

    for record in list(RECORDS.values()):
        if record.ns == "tst":
            ops.define(record)


class Functions:
    """``f.add``: the function of an operator in the tests' namespace."""

    def __getattr__(self, name):
        return _core.function(f"tst::{name}")


f = Functions()


def method(name):
    """The method descriptor of an operator in the tests' namespace."""
    return _core.method(f"tst::{name}")


def tensor(values, dtype=np.float32):
    """A tensor over a NumPy array of its own."""
    return _core.from_numpy(np.array(values, dtype))


def values(t):
    """The tensor's values as nested lists."""
    return _core.to_numpy(t).tolist()
