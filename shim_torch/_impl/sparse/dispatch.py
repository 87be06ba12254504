"""Which operators take sparse tensors, and what runs then.

``native`` asks ``rule`` once an operator, when it is first called with a sparse tensor. The families of kernels beside
this file fill the tables; they get the bound arguments in schema order and work on the parts with dense operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import scalar_word

PASS, REFUSE, KERNEL, PARTS = 1, 2, 3, 4
FAMILIES = (
    "pointwise", "arithmetic", "division", "shapes", "joins", "copies", "products", "row_products", "reductions",
)  # fmt: skip

_kernels: dict[str, Callable[..., Any]] = {}
_composites: dict[str, Callable[..., Any]] = {}
_passes: set[str] = set()
_loaded = False

Body = Callable[..., Any]


def kernel(*names: str) -> Callable[[Body], Body]:
    """The body of operators for sparse arguments, run without history; the operator's own formulas give its gradients."""

    def declare(body: Body) -> Body:
        _kernels.update(dict.fromkeys(names, body))
        return body

    return declare


def composite(*names: str) -> Callable[[Body], Body]:
    """As ``kernel``, but gradients are those of the operators that the body calls."""

    def declare(body: Body) -> Body:
        _composites.update(dict.fromkeys(names, body))
        return body

    return declare


def runs_as_it_is(names: Iterable[str]) -> None:
    """Operators whose own bodies know sparse tensors."""
    _passes.update(names)


def _load() -> None:
    global _loaded
    if _loaded:
        return
    _loaded = True
    from shim_torch._impl.table.operators import records

    for record in records().values():
        if (
            "(a!)" in record.schema
            and record.kind == "direct"
            and getattr(record.body, "__module__", "").startswith("shim_torch._impl.records.sparse")
        ):
            _kernels[record.key.partition("::")[2]] = record.body  # writes to self by itself
        elif getattr(record.body, "__module__", "").startswith("shim_torch._impl.records.sparse"):
            _passes.add(record.key.partition("::")[2])
    for family in FAMILIES:
        import_module(f"shim_torch._impl.sparse.{family}")


def rule(name: str, overload: str, kind: str) -> tuple[int, Callable[..., Any] | None]:
    """What the operator does with sparse arguments; ``kind``: a composite's parts are asked in their turn."""
    _load()
    key = f"{name}.{overload}" if overload else name
    if key in _REFUSED:
        return REFUSE, None
    if key in _kernels:
        return KERNEL, _kernels[key]
    if key in _composites:
        return PARTS, _composites[key]
    return (PASS if key in _passes or kind == "composite" else REFUSE), None


def backend(tensors: Iterable[Any]) -> str:
    """PyTorch's dispatch key of the first sparse tensor: SparseCPU, SparseCsrCUDA."""
    for t in tensors:
        if isinstance(t, (list, tuple)):
            inner = [x for x in t if isinstance(x, _core.TensorBase) and x.layout != _core.strided]
            if inner:
                return backend(inner)
        elif isinstance(t, _core.TensorBase) and t.layout != _core.strided:
            where = {"cuda": "CUDA", "meta": "Meta"}.get(t.device.type, "CPU")
            return ("Sparse" if t.is_sparse else "SparseCsr") + where
    return "SparseCPU"


# Operators whose name in PyTorch's texts is another one, because they are composites there.
_NAMED = {
    "squeeze": "as_strided",
    "squeeze.dim": "as_strided",
    "narrow": "as_strided",
    "slice.Tensor": "as_strided",
    "split.Tensor": "as_strided",
    "split_with_sizes": "as_strided",
    "chunk": "as_strided",
    "diagonal": "as_strided",
    "mean": "mean.dim",
    "softmax.int": "_softmax",
    "log_softmax.int": "_log_softmax",
    "fill.Scalar": "fill_.Scalar",
    "uniform": "uniform_",
}
_REFUSED = {
    "dropout": "bernoulli_.float",
    "dropout_": "bernoulli_.float",
}  # composites whose parts would go through here
_REASONS = {
    "reshape": "reshape is not implemented for sparse tensors",
    "flatten.using_ints": "reshape is not implemented for sparse tensors",
    "expand": "expand is unsupported for {kind} tensors",
    "repeat": "expand is unsupported for {kind} tensors",
}


def refuse(qualified: str, args: list[Any]) -> NoReturn:
    """NotImplementedError in PyTorch's words: the operator has no kernel for sparse tensors."""
    name = qualified.removeprefix("aten::")
    if len(args) > 1 and not isinstance(args[1], _core.TensorBase) and _has_number_kernel(qualified):
        name = f"{name.partition('.')[0]}.Scalar"
    where = backend(args)
    if name in _REASONS:
        kind = "SparseCsr" if "Csr" in where else "Sparse"
        raise RuntimeError(_REASONS[name].format(kind=kind))
    if "Csr" in where and _is_pointwise(qualified):
        raise RuntimeError(f"unsupported tensor layout: {_first_layout(args)}")
    raise NotImplementedError(
        could_not_run(
            f"aten::{_NAMED.get(name, _REFUSED.get(name, name))}" if "aten::" in qualified else qualified, where
        )
    )


def _is_pointwise(qualified: str) -> bool:
    from shim_torch._impl.table.operators import records

    record = records().get(qualified)
    return record is not None and record.has_operands_shape


def _has_number_kernel(qualified: str) -> bool:
    """Whether the operator for a number in the second place has a name of its own."""
    from shim_torch._impl.table.operators import named

    name = qualified.removeprefix("aten::").partition(".")[0]
    return any("number_kernel" in record.traits for record in named(name))


def _first_layout(args: list[Any]) -> str:
    from shim_torch._impl.sparse.coo import word

    return next(
        word(a) for a in args if isinstance(a, _core.TensorBase) and a.layout not in (_core.strided, _core.sparse_coo)
    )


def could_not_run(name: str, where: str) -> str:
    """PyTorch's text for an operator without a kernel."""
    return (
        f"Could not run '{name}' with arguments from the '{where}' backend. This could be because the operator doesn't exist for "
        "this backend, or was omitted during the selective/custom build process (if using custom build). If you are a Facebook "
        "employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
        f"'{name}' is only available for these backends: [CPU, CUDA, Meta]."
    )


def store(self: Any, result: Any, out: bool) -> Any:
    """The functional result as the new value of ``self`` (of an in-place operator, or of ``out=``)."""
    if not isinstance(result, _core.TensorBase):
        raise TypeError("the functional result is not a tensor")
    if not _core.can_cast(result.dtype, self.dtype):
        raise RuntimeError(
            f"result type {_scalar(result.dtype)} can't be cast to the desired output type {_scalar(self.dtype)}"
        )
    if self.layout == _core.strided:
        if result.layout != _core.strided:
            result = result.to_dense()
        if out and self.shape != result.shape:
            self.resize_(result.shape)
        return self.copy_(result)
    if result.layout == _core.strided:
        raise RuntimeError(
            f"Expected the result to be {_layout_word(result)} to be stored in a {_layout_word(self)} tensor"
        )
    if not out and self.shape != result.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result.layout != self.layout:
        result = result.to_sparse(layout=self.layout)
    return _core.replace_sparse(self, result.to(self.dtype))


def _layout_word(t: Any) -> str:
    return {"torch.strided": "Strided", "torch.sparse_coo": "Sparse"}.get(str(t.layout), "SparseCsr")


def _scalar(dtype: Any) -> str:
    return scalar_word(dtype)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """``self`` gets the values of ``src``."""
    for t in (self, src):
        if t.layout not in (_core.strided, _core.sparse_coo):
            from shim_torch._impl.sparse import compressed

            return compressed.copy_(self, src)
    if self.layout == _core.strided:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    if src.layout == _core.strided:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    if self is src:
        return self
    if self.shape != src.shape and self._nnz():
        from shim_torch._impl.sparse import coo

        coo.resize(self, tuple(src.shape), src.sparse_dim(), src.dense_dim())
    made = src.to(dtype=self.dtype, device=self.device, copy=True)
    return _core.replace_sparse(self, made)
