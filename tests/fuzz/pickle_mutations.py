"""Pickles as lists of opcodes, and changes of them that keep most of their structure."""

from __future__ import annotations

import io
import pickletools
import random
import struct
from typing import Any

Op = tuple[str, Any, bytes]  # its name, its argument, its bytes

ALLOWED = (
    "torch._utils _rebuild_tensor_v2|torch._utils _rebuild_tensor|torch._utils _rebuild_parameter|torch._utils _rebuild_sparse_tensor|"
    "torch._utils _rebuild_parameter_with_state|torch._utils _rebuild_meta_tensor_no_storage|torch._utils _rebuild_qtensor|"
    "torch._utils _rebuild_nested_tensor|torch._utils _rebuild_wrapper_subclass|torch._utils _rebuild_device_tensor_from_numpy|"
    "torch._utils _rebuild_device_tensor_from_cpu_tensor|torch._utils _rebuild_xla_tensor|torch._tensor _rebuild_from_type_v2|"
    "torch FloatStorage|torch DoubleStorage|torch ByteStorage|torch LongStorage|torch HalfStorage|torch BoolStorage|torch ComplexFloatStorage|"
    "torch.storage UntypedStorage|torch.storage TypedStorage|torch Tensor|torch Size|torch device|torch float32|torch int64|torch strided|"
    "torch sparse_coo|torch.nn.parameter Parameter|torch.serialization _get_layout|collections OrderedDict|collections Counter|"
    "_codecs encode|builtins bytearray|builtins set|builtins complex|__builtin__ set|torch.nn.parameter Buffer|torch per_tensor_affine|"
    "torch.nested._internal.nested_tensor _rebuild_njt|torch._utils _rebuild_tensor_v3|torch.nn.parameter UninitializedParameter"
).split("|")
FORBIDDEN = (
    "os system|posix system|builtins eval|builtins exec|builtins getattr|builtins __import__|subprocess Popen|sys exit|torch load|torch save|"
    "torch.hub load|torch.serialization load|torch.utils.cpp_extension load|torch.serialization add_safe_globals|torch._utils _import_dotted_name|"
    "shim_torch.serialization load|shim_torch._utils _rebuild_tensor_v2|shim_torch.hub os|shim_torch._impl.native._core from_numpy|numpy load|ctypes CDLL|"
    "antigravity x|canary_of_the_fuzz_target touched|torch os|torch.os system|torch._utils sys|torch _C|torch manual_seed|torch.nn Module|"
    "torch.storage _load_from_bytes|pickle loads|builtins print|torch.jit load|torch from_file|torch tensor|torch|  |\u00e9 \u00e9|a\0b c"
).split("|")
INTS = (
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    23,
    24,
    25,
    255,
    256,
    65535,
    -1,
    -2,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**40,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    2**70,
)
STRINGS = (
    "storage",
    "cpu",
    "cuda:0",
    "cuda",
    "meta",
    "0",
    "1",
    "",
    "..",
    "../version",
    "data.pkl",
    "module",
    "x" * 5000,
    "é",
    "latin1",
    "utf-8",
    "cpu:7",
    "name\0",
)
PLAIN = (
    "REDUCE BUILD NEWOBJ SETITEM SETITEMS APPEND APPENDS TUPLE TUPLE1 TUPLE2 TUPLE3 POP POP_MARK DUP MARK NONE NEWTRUE EMPTY_LIST EMPTY_DICT "
    "EMPTY_TUPLE EMPTY_SET ADDITEMS FROZENSET STACK_GLOBAL NEWOBJ_EX MEMOIZE OBJ BINPERSID LIST DICT STOP READONLY_BUFFER NEXT_BUFFER"
).split()
CODES = {o.name: o.code.encode("latin1") for o in pickletools.opcodes}


def parsed(file: io.BytesIO) -> list[Op]:
    """The opcodes of one pickle, whose end the file is then at."""
    data = file.getvalue()
    found = [(op.name, arg, pos) for op, arg, pos in pickletools.genops(file)]
    ends = [pos for _, _, pos in found[1:]] + [file.tell()]
    return [(name, arg, data[pos:end]) for (name, arg, pos), end in zip(found, ends, strict=True)]


def written(ops: list[Op]) -> bytes:
    return b"".join(data for _, _, data in ops)


def op(name: str, data: bytes = b"", arg: Any = None) -> Op:
    return name, arg, CODES[name] + data


def global_(full: str) -> Op:
    return op("GLOBAL", full.replace(" ", "\n", 1).encode() + b"\n", full)


def int_(n: int) -> Op:
    if -(2**31) <= n < 2**31:
        return op("BININT", struct.pack("<i", n), n)
    data = n.to_bytes((n.bit_length() + 8) // 8, "little", signed=True)
    return op("LONG1", bytes([len(data)]) + data, n)


def text(s: str) -> Op:
    data = s.encode()
    return op("BINUNICODE", struct.pack("<I", len(data)) + data, s)


class Mutator:
    """Changes of one pickle; each gets its opcodes and changes them in place."""

    def __init__(self, r: random.Random) -> None:
        self.r = r

    def some(self, ops: list[Op], names: tuple[str, ...]) -> int | None:
        found = [i for i, o in enumerate(ops) if o[0].startswith(names)]
        return self.r.choice(found) if found else None

    def place(self, ops: list[Op]) -> int:
        return self.r.randrange(2, max(len(ops), 3))

    def name(self) -> Op:
        return global_(self.r.choice(ALLOWED if self.r.random() < 0.6 else FORBIDDEN))

    def change_global(self, ops: list[Op]) -> None:
        at = self.some(ops, ("GLOBAL",))
        if at is not None:
            ops[at] = self.name()

    def change_int(self, ops: list[Op]) -> None:
        at = self.some(ops, ("BININT", "LONG1"))
        if at is not None:
            ops[at] = int_(self.r.choice(INTS)) if self.r.random() < 0.9 else self.value()[0]

    def change_text(self, ops: list[Op]) -> None:
        at = self.some(ops, ("BINUNICODE", "SHORT_BINUNICODE"))
        if at is not None:
            ops[at] = text(self.r.choice(STRINGS))

    def change_memo(self, ops: list[Op]) -> None:
        at = self.some(ops, ("BINGET", "BINPUT", "LONG_BIN"))
        n = self.r.choice((0, 1, 2, 3, 5, 8, 13, 21, 255))
        if at is not None:
            get = "GET" in ops[at][0] if self.r.random() < 0.8 else self.r.random() < 0.5
            ops[at] = op("BINGET" if get else "BINPUT", bytes([n]), n)

    def drop(self, ops: list[Op]) -> None:
        at = self.place(ops)
        del ops[at : at + self.r.choice((1, 1, 1, 2, 5))]

    def repeat(self, ops: list[Op]) -> None:
        at, n = self.place(ops), self.r.choice((1, 1, 2, 5, 10))
        ops[at:at] = ops[at : at + n] * self.r.choice((1, 1, 2, 30))

    def swap(self, ops: list[Op]) -> None:
        a, b = self.place(ops) - 1, self.place(ops) - 1
        ops[a], ops[b] = ops[b], ops[a]

    def value(self, depth: int = 0) -> list[Op]:
        """A value of some kind, pushed."""
        r, way = self.r, self.r.random()
        if way < 0.35:
            return [int_(r.choice(INTS))]
        if way < 0.5:
            return [text(r.choice(STRINGS))]
        if way < 0.6:
            return [self.name()]
        if way < 0.75:
            n = r.choice((0, 1, 2, 3, 5, 8))
            return [op("BINGET", bytes([n]), n)]
        if way < 0.85 and depth < 3:
            return [op("MARK"), *(o for _ in range(r.choice((0, 1, 2, 4))) for o in self.value(depth + 1)), op("TUPLE")]
        simple = ("NONE", "NEWTRUE", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "NEWFALSE")
        return (
            [op(r.choice(simple))]
            if way < 0.95
            else [op("BINFLOAT", struct.pack(">d", r.choice((0.0, 1.5, float("nan"), 1e300))), 0.0)]
        )

    def call(self, ops: list[Op]) -> None:
        """A name called with some arguments, its result left in place of a value or dropped."""
        r, at = self.r, self.place(ops)
        arguments = [o for _ in range(r.choice((0, 1, 1, 2, 3, 4, 6, 7))) for o in self.value()]
        call = [self.name(), op("MARK"), *arguments, op("TUPLE"), op(r.choice(("REDUCE", "REDUCE", "NEWOBJ")))]
        state = [*self.value(), op("BUILD")] if r.random() < 0.3 else []
        here = self.some(ops, ("BININT", "BINUNICODE", "NONE", "NEW", "EMPTY"))
        if here is not None and r.random() < 0.7:
            ops[here : here + 1] = call + state
        else:
            ops[at:at] = [*call, *state, op("POP")]

    def state(self, ops: list[Op]) -> None:
        """An attribute or an item set on whatever is on the stack."""
        r, names = (
            self.r,
            (
                "__class__",
                "__dict__",
                "__setstate__",
                "data",
                "grad",
                "requires_grad",
                "_backward_hooks",
                "x",
                "__reduce__",
            ),
        )
        item = [op("EMPTY_DICT"), text(r.choice(names)), *self.value(), op("SETITEM")]
        at = self.place(ops)
        ops[at:at] = r.choice(
            (
                [*item, op("BUILD")],
                item[1:],
                [op("NONE"), *item, op("TUPLE2"), op("BUILD")],
                [*self.value(), op("APPEND")],
            )
        )

    def insert(self, ops: list[Op]) -> None:
        r, at = self.r, self.place(ops)
        other = (b"\x8c\xffab", b"X\xff\xff\xff\xff", b"\x8a\xff" + b"\xff" * 255, b"\x8b\xff\xff\xff\xff", b"\x8b\xff\xff\xff\x7f", b"B\xff\xff\xff\x7f",
                 b"\x8e" + b"\xff" * 8, b"\x95" + b"\x10" * 8, b"I1" + b"0" * 6000 + b"\n", b"L12345678901234567890L\n", b"F1e5\n", b"S'a'\n",
                 b"ios\nsystem\n", b"Pcpu\n", b"\x82\x01", b"r\xff\xff\xff\xff", b"j\xff\xff\xff\x7f", b"\x80\x05", b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f")  # fmt: skip
        ops.insert(at, op(r.choice(PLAIN)) if r.random() < 0.6 else ("RAW", None, r.choice(other)))

    def deepen(self, ops: list[Op]) -> None:
        """A value inside thousands of tuples, sometimes as the key of a dict, or lists that hold each other many times over."""
        r, at = self.r, self.place(ops)
        n = r.choice((10, 1000, 30000))
        key = [op("EMPTY_DICT"), op("NONE"), *[op("TUPLE1")] * n, op("NONE"), op("SETITEM")]
        many = [op("EMPTY_LIST"), op("BINPUT", b"\xfe")] + [
            op("MARK"),
            *[op("BINGET", b"\xfe")] * 9,
            op("TUPLE"),
            op("BINPUT", b"\xfe"),
        ] * 12
        ops[at:at] = [*r.choice(([op("NONE"), *[op("TUPLE1")] * n], key, many)), op("POP")][
            : None if r.random() < 0.3 else -1
        ]

    def bytes_(self, ops: list[Op]) -> None:
        at = self.place(ops) - 1
        name, arg, data = ops[at]
        changed = bytearray(data)
        changed[self.r.randrange(len(changed))] = self.r.randrange(256)
        ops[at] = ("RAW", arg, bytes(changed))

    def mutate(self, ops: list[Op]) -> list[Op]:
        ways = [
            self.change_global,
            self.change_int,
            self.change_text,
            self.change_memo,
            self.call,
            self.state,
            self.insert,
            self.bytes_,
        ]
        ways += [self.drop, self.repeat, self.swap] + [self.change_int] * 4 + [self.change_global, self.call] * 2
        for _ in range(self.r.choice((1, 1, 1, 2, 2, 3, 5))):
            (self.deepen if self.r.random() < 0.01 else self.r.choice(ways))(ops)
            if len(ops) < 4:
                break
        return ops
