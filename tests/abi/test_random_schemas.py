"""Random schemas through the boxing: what goes in comes back, nothing leaks, bad values are refused whole."""

import ctypes
import gc
import random
import sys

import pytest

import shim_torch as torch

# How a value of each type is made, as its schema spells it.
MAKERS = {
    "int": lambda r: r.choice([0, -1, 2**63 - 1, -(2**63), r.randrange(-1000, 1000)]),
    "SymInt": lambda r: r.randrange(-1000, 1000),
    "float": lambda r: r.choice([0.0, -0.0, 1e308, 5e-324, float("inf"), r.random()]),
    "bool": lambda r: r.random() < 0.5,
    "str": lambda r: "".join(chr(r.randrange(1, 0x2FFF)) for _ in range(r.choice([0, 1, 7, 100]))),
    "ScalarType": lambda r: r.choice([torch.float32, torch.int8, torch.bfloat16, torch.bool, torch.float8_e5m2]),
    "Device": lambda r: r.choice([torch.device("cpu"), torch.device("cuda", 2), torch.device("meta")]),
    "Layout": lambda r: torch.strided,
    "MemoryFormat": lambda r: r.choice([torch.contiguous_format, torch.channels_last]),
    "Tensor": lambda r: torch.ones(r.choice([(), (0,), (2, 3)])),
}
NUMBERS = {torch.float32: 6, torch.int8: 1, torch.bfloat16: 15, torch.bool: 11, torch.float8_e5m2: 23, torch.strided: 0}
NUMBERS.update({torch.contiguous_format: 0, torch.channels_last: 2})
PLAIN_LISTS = ("int", "SymInt", "float", "bool", "str", "Tensor")


def random_type(r: random.Random) -> str:
    base = r.choice(list(MAKERS))
    forms = ["{}", "{}?"] + (["{}[]", "{}?[]", "{}[]?"] if base in PLAIN_LISTS else [])
    return r.choice(forms).format(base)


def value_of(r: random.Random, text: str):
    if text.endswith("?") and r.random() < 0.3:
        return None
    text = text.rstrip("?")
    if text.endswith("[]"):
        return [value_of(r, text[:-2]) for _ in range(r.choice([0, 1, 5]))]
    return MAKERS[text](r)


def expected(value):
    if isinstance(value, list):
        return [expected(v) for v in value]
    try:
        return NUMBERS.get(value, value)
    except TypeError:
        return value


def same(a, b) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a is b if isinstance(a, torch.Tensor) else type(a) is type(b) and a == b


@pytest.mark.parametrize("seed", range(60))
def test_random_schema(library, ops, seed):
    r = random.Random(seed)
    types = [random_type(r) for _ in range(r.choice([1, 2, 5, 12, 30]))]
    arguments = ", ".join(f"{t}  x{i}" if i % 3 else f"{t} x{i}" for i, t in enumerate(types))
    name = f"random{seed}"
    define = ctypes.CDLL(str(library)).abi_test_define_echo
    schema = f"{name}({arguments}) -> ({', '.join(types)})"
    assert define(schema.encode(), name.encode()) == 0
    op = getattr(ops, name)
    watched = torch.ones(3)
    for _ in range(10):
        values = [value_of(r, t) for t in types]
        found = op(*values)
        assert same([expected(v) for v in values], list(found) if len(types) > 1 else [found])
    values = [watched if t == "Tensor" else [watched] * 3 if t == "Tensor[]" else value_of(r, t) for t in types]
    bad = r.randrange(len(types))
    gc.collect()
    before = sys.getrefcount(watched)
    for _ in range(10):
        with pytest.raises((RuntimeError, TypeError, ValueError, OverflowError)):
            op(*values[:bad], object(), *values[bad + 1 :])
    del values
    gc.collect()
    assert sys.getrefcount(watched) <= before


@pytest.mark.parametrize(
    "schema",
    [
        "f((R x",
        "f(Tensor x) -> (Tensor",
        "f(Dict(str x) -> ()",
        "f(Tensor(a x) -> ()",
        "f(",
        "",
        "f(str s='",
        "(",
        "f() -> (",
    ],
)
def test_schemas_that_do_not_end(schema):
    with pytest.raises(RuntimeError):
        torch.library.Library("abi_random", "FRAGMENT").define(schema)


def test_integers_that_do_not_fit(ops):
    x = torch.ones(1)
    rest = (1.0, True, "", torch.int8, "cpu", torch.contiguous_format, torch.strided, x)
    with pytest.raises((RuntimeError, OverflowError)):
        ops.echo(2**63, *rest)
