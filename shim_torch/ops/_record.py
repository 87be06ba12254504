"""What an operator record is: one declaration from which the whole operator follows.

    @op("tanh(Tensor self) -> Tensor", shape=same, dtype=int_to_float, inplace=True, out=True,
        grad={"self": lambda g, result: g * (1 - result * result)})
    def tanh(xp, self):
        return xp.tanh(self)

The schema is the signature. ``shape`` and ``dtype`` are functions whose parameter names are schema names; they alone
answer for meta tensors. The body is pure: it gets the array namespace ``xp`` (NumPy or CuPy) and, by schema name,
arrays already cast to the compute dtype, and plain Python values for everything else. ``grad`` has one formula an
input: parameter ``g`` is the gradient of the (first) result, ``g1``, ``g2`` of further ones, an input's name is that
saved input, ``result`` (``result0``, ``result1``) a saved output, ``x_shape``, ``x_dtype``, ``x_device`` metadata of
input ``x`` without keeping it. What a formula does not name is not saved.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

RECORDS: dict[str, Record] = {}


class Record:
    """One operator: schema, rules, body, gradient formulas and the variants to derive."""

    __slots__ = (
        "schema",
        "ns",
        "name",
        "overload",
        "arguments",
        "kind",
        "body",
        "shape",
        "dtype",
        "grad",
        "fused",
        "native",
        "function",
        "method",
        "inplace",
        "out",
        "aliases",
        "keep",
        "module",
        "tags",
        "differentiable",
        "passes_generator",
    )

    def __init__(self, schema: str, body: Callable[..., Any], kind: str, **options: Any) -> None:
        self.schema = schema
        self.body = body
        self.kind = kind
        qualified = schema.split("(", 1)[0].strip()
        self.ns, _, name = qualified.rpartition("::") if "::" in qualified else ("aten", "", qualified)
        self.name, _, self.overload = name.partition(".")
        self.arguments = _argument_names(schema)
        self.shape: Callable[..., Any] | None = options.pop("shape", None)
        self.dtype: Callable[..., Any] | None = options.pop("dtype", None)
        self.grad: dict[str, Callable[..., Any]] = options.pop("grad", None) or {}
        self.fused: dict[str, Callable[..., Any]] = options.pop("fused", None) or {}
        self.native: str | None = options.pop("native", None)
        self.function: bool = options.pop("function", True)
        self.method: bool = options.pop("method", self.arguments[:1] == ("self",))
        self.inplace: bool = options.pop("inplace", False)
        self.out: bool = options.pop("out", False)
        self.aliases: tuple[str, ...] = tuple(options.pop("aliases", ()))
        self.keep: frozenset[str] = frozenset(options.pop("keep", ()))
        self.module: str = options.pop("module", "")
        self.differentiable: tuple[int, ...] | None = options.pop("differentiable", None)
        if options:
            raise TypeError(f"{schema}: unknown options {sorted(options)}")
        self._check()
        if self.key in RECORDS:
            raise TypeError(f"{self.key}: declared twice")
        RECORDS[self.key] = self

    @property
    def key(self) -> str:
        """``aten::add.Tensor``, the name the table knows it by."""
        return f"{self.ns}::{self.name}" + (f".{self.overload}" if self.overload else "")

    def _check(self) -> None:
        if self.kind == "kernel":
            _names_known(self, "body", parameters(self.body)[1:], set(self.arguments))
        for what in ("shape", "dtype"):
            rule = getattr(self, what)
            if rule is not None and not getattr(rule, "takes_all", False):
                _names_known(self, what, parameters(rule), set(self.arguments))
        known = {"g", *(f"g{i}" for i in range(1, 8)), "result", *(f"result{i}" for i in range(8))}
        for name in self.arguments:
            known |= {name, f"{name}_shape", f"{name}_dtype", f"{name}_device", f"{name}_strides"}
        for inputs, formula in {**self.grad, **self.fused}.items():
            for name in inputs.split(","):
                _names_known(self, "grad", (name.strip(),), set(self.arguments))
            _names_known(self, f"gradient of {inputs}", parameters(formula), known)


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The positional parameter names of a function (its code object's: no signature object is built)."""
    code = getattr(function, "__code__", None)
    if code is None:
        return tuple(inspect.signature(function).parameters)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _argument_names(schema: str) -> tuple[str, ...]:
    inside = schema.split("(", 1)[1].rsplit("->", 1)[0].strip()[:-1]
    names, depth, start = [], 0, 0
    for i, c in enumerate(inside + ","):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            part = inside[start:i].strip()
            start = i + 1
            if part and part != "*":
                names.append(part.split("=")[0].split()[-1])
    return tuple(names)


def _names_known(record: Record, what: str, names: Sequence[str], known: set[str]) -> None:
    wrong = [n for n in names if n not in known]
    if wrong:
        raise TypeError(f"{record.schema}: {what} names {wrong}, which the schema does not have")


def op(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator with a body over ``xp``; see the module's docstring for the options.

    shape, dtype   rules (``_rules``); dtype gives the result dtype, or (compute dtype, result dtype or list of them)
    grad, fused    {"input": formula}, {"input1, input2": formula giving a tuple}; fused serves when all are wanted
    native         name of the C++ kernel; the body is then its reference
    function, method, inplace, out    which of torch.f, Tensor.f, f_ and out= follow (inplace and out: False by default)
    aliases        further names of the same operator ("absolute" for abs)
    keep           tensor arguments that are not cast to the compute dtype (indices, masks)
    module         where the function stands if not in torch: "nn.functional", "linalg", "special", "_C" (table only)
    differentiable indices of the outputs that carry gradients (default: all floating ones)
    """

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        Record(schema, body, "kernel", **options)
        return body

    return declare


def composite(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator whose body is torch calls on tensors (by schema order); gradients and meta come from those."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        Record(schema, body, "composite", **options)
        return body

    return declare


def view(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a view: the body gets tensors and returns a tensor (or list) that shares storage, without history."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        Record(schema, body, "view", **options)
        return body

    return declare
