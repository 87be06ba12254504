"""What an operator record is: one declaration from which the whole operator follows.

    @op("tanh(Tensor self) -> Tensor", shape=same, dtype=int_to_float, inplace=True, out=True,
        grad={"self": lambda g, result: g * (1 - result * result)})
    def tanh(xp, self):
        return xp.tanh(self)

The schema is the signature. ``shape`` and ``dtype`` are functions whose parameter names are schema names; they alone
answer for meta tensors. The body is pure: it gets the array namespace ``xp`` (NumPy or CuPy) and, by schema name,
arrays already cast to the compute dtype, and plain Python values for everything else. ``grad`` has one formula an
input: parameter ``g`` is the gradient of the (first) result, ``g0``, ``g1``, ``g2`` of the first, second and third, an input's name is that
saved input, ``result`` (``result0``, ``result1``) a saved output, ``x_shape``, ``x_dtype``, ``x_device`` metadata of
input ``x`` without keeping it; ``wanted`` says, for a formula of several inputs, which of them need a gradient. What a
formula does not name is not saved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from shim_torch._impl.native import _core

RECORDS: dict[str, Record] = {}

# What else a record may say of its operator, its variants and aliases, and who reads it: a file of _impl, or of native/src.
TRAITS: dict[str, str] = {
    "pointwise": "bool: it computes each element by itself, or does not, where the shape rule does not say so (Record.pointwise)",
    "batching": "how vmap runs it: 'pointwise'; 'random'; 'along_dim', 'along_dim_or_none': with the dims of its first tensor, which "
    "may be a number in the second case; 'loop': item by item (transforms/batching)",
    "nested": "how nested tensors take it: 'pointwise', 'reduction' (nested)",
    "sparse": "'zero_preserving': zeros stay zeros, so it runs on a sparse tensor's values; 'linear': also before duplicates are summed",
    "number_kernel": "PyTorch's overload for a number is a kernel of its own, which errors name (sparse/dispatch.py)",
    "refuses": "((kinds, text), ...) of the first argument's dtype (table/guards.py)",
    "one_dtype": "operands of different dtypes are refused before the dtype (table/guards.py)",
    "no_complex_gradient": "PyTorch's name for it in the refusal of complex numbers that need gradients (table/guards.py)",
    "values": "'checked': a call may fail for what its tensors hold; 'ranges': for an index or a chance out of range "
    "alone; 'divides': for a zero among integers; 'unchecked': for nothing, though its family says so (compile/deferral.py)",
    "foreseen": "its rules tell all that its kernels give and refuse of 'floats', 'integers', or 'any' tensors (compile/deferral.py)",
    "dynamic_shape": "the shapes of the results depend on values (table/meta.py)",
    "symbol": "the Python symbol that it is: 'add' for + (table/symbols.py)",
    "also": "'torch': torch has it beside nn.functional's function of that name (functional.py)",
    "autocast": "autocast.cpp: autocast computes it in 'lower_precision', 'float16', 'float32', the widest of its tensors "
    "('promote'), 'off' (nor what it is made of), or as its name says of a device, 'off_cpu_promote_cuda' (traits.h: CastPolicy)",
    "numbers": "define.cpp: Python numbers may stand for its tensors: 'any', 'not_first', or 'not_all' of them",
    "number_overloads": "shown_overload.cpp: PyTorch's overloads where the second operand is a number, the first is, and in place",
    "old_orders": "deprecated_signatures.cpp: the orders of its arguments in PyTorch's first years",
    "python_names": "arguments.cpp: names of its arguments, each followed by what torch's function and the tensor's method call it",
    "dim_names": "argument_errors.cpp: PyTorch's takes names=, which is refused",
    "renews_numbers": "arguments.cpp, replay.cpp: its floats may differ at each call of a compiled function, and are a CUDA graph's anew",
    "channels_last": "channels_last.cpp: how its kernel takes them: 'kept' (gives such, too), 'read' (gives none), 'convolution', 'gradient'",
    "saves_tables": "operator_node.cpp: the tensors that its formulas ask for are tables of ours, which no backward frees and no hook packs",
    "reads_math_bits": "call.cpp, inplace.cpp: its kernels see to conjugate and negative bits themselves",
    "part_of": "record_plan.cpp, overlap.cpp: PyTorch's operator that it is a part of, as gradients and warnings say",
    "gradient_name": "operator_node.cpp, history.cpp: what PyTorch calls its node, of a composite that of its last part; True: the "
    "composite's own name; with '/' between them those where the second operand is a number, none is, the first is, and that of the symbol with the tensor on its right",
    "overlap": "overlap.cpp: an input may be what is written, if it is all of it; 'refused': may not, 'unchecked': out= may be anything",
    "expanded": "overlap.cpp: may write to expanded tensors: 'same_value' (it writes one), or with a warning that gives this example",
    "out_overload": "define.cpp: the out= variant's overload, where it is not 'out' or the overload's own and '_out'",
    "out_dtype": "out_dtype.cpp: out= has the result's dtype; the error's text, or of many: 'same', 'structured', 'exact', 'kernel'",
    "cast_error": "out_dtype.cpp: the error's text where the result cannot be cast to what is written",
    "sums_in_out_dtype": "out_dtype.cpp: adds up in the dtype of out=",
    "out_order": "inplace.cpp: out= gets C order whatever the result's is: 'contiguous', 'contiguous_when_resized'",
    "out_resize": "inplace.cpp: how an out= of another shape is resized, if not with the usual warning: 'silent', "
    "'rounded' (the warning speaks of rounding), 'first' (before its dtype is looked at)",
    "any_out_shape": "inplace.cpp: fills an out= of as many elements whatever its shape is",
    "writes_out_last": "out_dtype.cpp: copies into out= at its end: of a leaf that needs a gradient, the copy's error",
    "out_error_name": "out_dtype.cpp: who says in PyTorch that out= has no gradient",
    "never_differentiable": "inplace.cpp: has no gradient, so that out= may be given what needs one",
    "forward_error_name": "call.cpp: has no forward-mode formula in PyTorch, whose error calls it so",
}

CODE = ("body", "shape", "dtype", "grad", "fused", "order")  # what of a record is code, and comes with its module


def node_name(operator: str) -> str:
    """PyTorch's name of an operator's node: a letter is large after a line and after a digit (AvgPool2DBackward0)."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_|(?<=\d)", operator)) + "Backward0"


class Record:
    """One operator: schema, rules, body, gradient formulas and the variants to derive."""

    __slots__ = (
        "schema",
        "ns",
        "name",
        "overload",
        "key",
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
        "differentiable",
        "follows",
        "order",
        "ops_only",
        "traits",
        "row",
    )

    def __init__(
        self,
        schema: str,
        body: Callable[..., Any],
        kind: str,
        *,
        shape: Callable[..., Any] | None = None,
        dtype: Callable[..., Any] | None = None,
        grad: dict[str, Callable[..., Any]] | None = None,
        fused: dict[str, Callable[..., Any]] | None = None,
        native: str | None = None,
        function: bool = True,
        method: bool | None = None,
        inplace: bool | str | tuple[str, ...] = False,
        out: bool | tuple[str, ...] = False,
        aliases: Sequence[str] = (),
        keep: Sequence[str] = (),
        module: str = "",
        differentiable: tuple[int, ...] | None = None,
        follows: Sequence[str] = (),
        order: Any = None,
        ops_only: bool = False,
        **traits: Any,
    ) -> None:
        self.schema = schema
        self.body = body
        self.kind = kind
        # Cheap: what the names are. The whole schema is parsed when the operator is defined.
        self.ns, self.name, self.overload, self.key, self.arguments = _core.schema_names(schema)
        self.shape = shape
        self.dtype = dtype
        self.grad = grad or {}
        self.fused = fused or {}
        self.native = native
        self.function = function
        self.method = self.arguments[:1] == ("self",) and self.ns != "shim" if method is None else method
        self.inplace = inplace
        self.out = out
        self.aliases = tuple(aliases)
        self.keep = tuple(keep)
        self.module = module
        self.differentiable = differentiable
        self.follows = tuple(follows)
        self.order = order
        self.ops_only = ops_only
        if traits.get("gradient_name") is True:
            traits["gradient_name"] = node_name(self.name)
        self.traits = traits
        self.row: Any = None  # of a record whose module is not imported yet (table/rows.py)
        if traits and (unknown := traits.keys() - TRAITS.keys()):
            raise TypeError(f"{self.key}: unknown options {sorted(unknown)}")

    def __getattr__(self, name: str) -> Any:
        """What only the module of the record's family has: its functions."""
        if name not in CODE or getattr(self, "row", None) is None:
            raise AttributeError(f"'Record' object has no attribute '{name}'", name=name, obj=self)
        from shim_torch._impl.table.rows import import_family

        import_family(self)
        return getattr(self, name)

    @property
    def pointwise(self) -> bool:
        """Whether each element of the results is computed from the elements that correspond to it."""
        by_rule = self.has_operands_shape or getattr(self.shape, "elementwise", False)
        return self.traits.get("pointwise", by_rule)  # type: ignore[no-any-return]

    @property
    def has_operands_shape(self) -> bool:
        """Whether the shape rule is that of one operand, or of several that broadcast."""
        return getattr(self.shape, "__name__", "") in ("broadcast", "same")

    @property
    def names(self) -> tuple[str, ...]:
        """The operator's name and its aliases, without the overload."""
        return (self.name, *self.aliases)

    def check(self) -> None:
        """TypeError where a rule, the body or a formula names what the schema does not have. The tests check every record."""
        arguments = set(self.arguments)
        if self.kind == "kernel":
            _names_known(self, "body", parameters(self.body)[1:], arguments)
        for what in ("shape", "dtype", "order"):
            rule = getattr(self, what)
            if callable(rule) and not getattr(rule, "takes_all", False):
                _names_known(self, what, parameters(rule), arguments)
        _names_known(self, "keep", self.keep, arguments)
        _names_known(self, "follows", self.follows, arguments)
        known = {"g", "wanted", *(f"g{i}" for i in range(8)), "result", *(f"result{i}" for i in range(8))}
        for name in self.arguments:
            known |= {name, f"{name}_shape", f"{name}_dtype", f"{name}_device", f"{name}_strides", f"{name}_start"}
        for inputs, formula in {**self.grad, **self.fused}.items():
            for name in inputs.split(","):
                _names_known(self, "grad", (name.strip(),), arguments)
            _names_known(self, f"gradient of {inputs}", parameters(formula), known)


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The positional parameter names of a function (its code object's: no signature object is built)."""
    code = getattr(function, "__code__", None)
    if code is None:
        from inspect import signature

        return tuple(signature(function).parameters)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _names_known(record: Record, what: str, names: Sequence[str], known: set[str]) -> None:
    wrong = [n for n in names if n not in known]
    if wrong:
        raise TypeError(f"{record.schema}: {what} names {wrong}, which the schema does not have")


def _declare(record: Record) -> None:
    """Adds the record to the others, or gives one that waits for its module what it waits for."""
    known = RECORDS.setdefault(record.key, record)
    if known is record:
        return
    if known.row is None:
        raise TypeError(f"{record.key}: declared twice")
    from shim_torch._impl.table.rows import take_code

    take_code(known, record)


def op(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator with a body over ``xp``; see the module's docstring for the options.

    shape, dtype   rules (``_rules``); dtype gives the result dtype, or (compute dtype, result dtype or list of them)
    grad, fused    {"input": formula}, {"input1, input2": formula giving a tuple}; fused serves when all are wanted
    native         name of the C++ kernel; the body is then its reference
    function, method, inplace, out    which of torch.f, Tensor.f, f_ and out= follow (inplace and out: False by default; a tuple names
                   the out= arguments). inplace="function": torch has f_ too, not only the tensor; a tuple names those f_ that it has
    aliases        further names of the same operator ("absolute" for abs)
    keep           tensor arguments that are not cast to the compute dtype (indices, masks)
    module         where the function stands if not in torch: "nn.functional", "linalg", "special", "_C" (table only)
    differentiable indices of the outputs that carry gradients (default: all floating ones)
    follows        tensor arguments whose channels_last format the results keep (the first that has one decides)
    ops_only       torch.ops has the overload; torch's function and the tensor's method of that name do not take its arguments
    order          how each result lies in memory, a tuple or a rule giving one: None (contiguous), "columns" (the last two
                   dims swapped, as LAPACK writes matrices) or the dims from the slowest to the fastest

    Further options are the traits that TRAITS lists: what one part of the house needs to know of the operator.
    """

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        _declare(Record(schema, body, "kernel", **options))
        return body

    return declare


def composite(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator whose body is torch calls on tensors (by schema order); gradients and meta come from those."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        _declare(Record(schema, body, "composite", **options))
        return body

    return declare


def direct(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator whose body gets tensors and returns tensors, run without history: ``grad`` gives its gradients."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        _declare(Record(schema, body, "direct", **options))
        return body

    return declare


def view(schema: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a view: the body gets tensors and returns a tensor (or list) that shares storage, without history."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        _declare(Record(schema, body, "view", **options))
        return body

    return declare


@cache
def function(qualified: str, module: str) -> Any:
    """The function of an operator that a module of PyTorch has; the same object each time, as overrides compare it."""
    return _core.function(qualified, module)
