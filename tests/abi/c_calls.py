"""Calls PyTorch's C functions for operators by ctypes, with arguments laid out as torch's generated headers say."""

from __future__ import annotations

import ctypes
import re
from itertools import zip_longest
from typing import Any

P = ctypes.c_void_p
I64, I32 = ctypes.c_int64, ctypes.c_int32
MISSING = object()


class Calls:
    """The C functions of one library, for the tensors of one torch. What it points to is kept until it is dropped."""

    def __init__(self, torch: Any, lib: ctypes.CDLL) -> None:
        self.torch, self.lib, self.kept = torch, lib, []
        self.dtypes = {
            getattr(lib, f"aoti_torch_dtype_{name}")(): getattr(torch, name)
            for name in "uint8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()
        }

    def number_of(self, dtype: Any) -> int:
        return next(n for n, d in self.dtypes.items() if d == dtype)

    def keep(self, x: Any) -> Any:
        self.kept.append(x)
        return x

    def pointer(self, x: Any) -> Any:
        return ctypes.cast(ctypes.pointer(self.keep(x)), P)

    def handle(self, t: Any) -> Any:
        """A handle on the tensor's memory."""
        self.keep(t)
        h, n = P(), t.dim()
        sizes, strides = (I64 * n)(*t.size()), (I64 * n)(*t.stride())
        error = self.lib.aoti_torch_create_tensor_from_blob(
            P(t.data_ptr()), I64(n), sizes, strides, I64(0), self.number_of(t.dtype), 0, 0, ctypes.byref(h)
        )
        assert error == 0
        return self.keep(h)

    def get(self, name: str, h: Any, kind: Any = I64) -> Any:
        result = kind()
        assert getattr(self.lib, f"aoti_torch_{name}")(h, ctypes.byref(result)) == 0
        return result

    def tensor(self, h: Any) -> Any:
        """What a handle holds, copied; the handle is dropped. None where it is undefined."""
        if not self.get("is_defined", h, ctypes.c_bool).value:
            return None
        n = self.get("get_dim", h).value
        sizes = ctypes.cast(self.get("get_sizes", h, P), ctypes.POINTER(I64))[:n]
        strides = ctypes.cast(self.get("get_strides", h, P), ctypes.POINTER(I64))[:n]
        dtype = self.dtypes[self.get("get_dtype", h, I32).value]
        made = self.torch.empty_strided(sizes, strides, dtype=dtype)
        if made.numel():
            extent = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))
            ctypes.memmove(made.data_ptr(), self.get("get_data_ptr", h, P).value, extent * made.element_size())
        assert self.lib.aoti_torch_delete_tensor_object(h) == 0
        return made

    def one(self, base: str, x: Any) -> Any:
        if base == "Tensor":
            return self.handle(x)
        if base in ("float", "Scalar"):
            return ctypes.c_double(x)
        if base == "str":
            return ctypes.c_char_p(x.encode())
        if base == "ScalarType":
            return I32(self.number_of(x))
        return (I32 if base in ("bool", "Layout", "MemoryFormat") else I64)(x)

    def cells(self, kind: str, x: Any) -> list[Any]:
        """The C arguments of one argument of the schema."""
        base = re.match(r"(Sym)?(\w+)", kind.replace("SymInt", "int"))[2]
        if base == "Device":
            return [P() if x is None else self.pointer(I32(0)), I32(0)]
        if "[" in kind:
            rest = kind[kind.index("[") :]
            if x is None:
                return [P(), I64(0)]
            if kind.startswith("Tensor?["):
                cells = [P() if e is None else self.pointer(self.handle(e)) for e in x]
            else:
                cells = [self.one(base, e) for e in x]
            cell = (
                P
                if base in ("Tensor", "str")
                else ctypes.c_double
                if base in ("float", "Scalar")
                else I32
                if base == "bool"
                else I64
            )
            array = self.keep((cell * len(cells))(*[c if isinstance(c, (int, float)) else c.value for c in cells]))
            if rest.endswith("?"):
                return [self.pointer(P(ctypes.addressof(array))), I64(len(cells))]
            return [P(ctypes.addressof(array)), I64(len(cells))]
        if kind.endswith("?"):
            return [P() if x is None else self.pointer(self.one(base, x))]
        return [self.one(base, x)]

    def run(self, symbol: str, op: Any, args: tuple[Any, ...], out: Any = None) -> Any:
        """Calls a C function whose arguments are those of ``op``'s schema. Returns its tensors; RuntimeError with its text."""
        schema, cells = op._schema, []
        if out is not None:
            cells.append(self.handle(out))
        text = re.sub(r"\([a-z]+!?\)", "", str(schema).split("(", 1)[1].rpartition(" -> ")[0])
        kinds = re.findall(r"((?:Sym)?[A-Z]?[A-Za-z]+(?:\[\d*\]|\?)*) \w+(?:=(?:\[[^\]]*\]|[^,)]*))?", text)
        for kind, argument, x in zip_longest(kinds, schema.arguments, args, fillvalue=MISSING):
            if not argument.is_out:
                cells += self.cells(kind, argument.default_value if x is MISSING else x)
        self.kept_first = cells[0]  # what an in-place operator wrote to
        places = []
        if out is None and not schema.is_mutable:
            for r in schema.returns:
                places.append(P() if "Tensor" in str(r.type) else I64())
        code = getattr(self.lib, symbol)(*cells, *map(ctypes.byref, places))
        if code:
            self.lib.torch_exception_get_what_without_backtrace.restype = ctypes.c_char_p
            raise RuntimeError(self.lib.torch_exception_get_what_without_backtrace().decode())
        return [self.tensor(p) if isinstance(p, P) else p.value for p in places]
