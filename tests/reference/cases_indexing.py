"""Reading and assigning by index: basic, boolean, integer and mixed, with the errors."""

from collections.abc import Iterator

from _compare import Case, T

KEYS = """0 -1 5 -3 1:2 ::2 1: :0 None ... True False [] [0] [0,1,1] [True,False] (0,) () (0,1) (0,1,2) (0,0,0,0) (...,0) (0,...)
    (...,None,0) (None,...) (:,1) (:,5) (1:,:2) (:,::2) (:,[0,2]) ([0,1],[1,2]) ([0,1],:,[1,2]) (0,[1,2]) ([1],None,[2])
    (:,[0,2],None) (None,[0,1]) ([[0,1],[1,0]],) (True,0) (False,[0,1]) ([0,1],[0,1,2]) [5] (:,[9]) 1.5 'a' ::-1
    i j (i,j) (:,j) m (m,0) n (:,n) x>0 (x>0).any(-1) h (i,...,j) i.int() i.short() m[:1] z b""".split()
VALUES = "1 2.5 True 1j [1,2] None y y[0] y[0,0] y.double() torch.tensor(3) torch.ones(7) 'a' np.float32(2) np.int64(2)".split()


def cases() -> Iterator[Case]:
    inputs = {
        "x": T(2, 3, 4), "i": T(3, dtype="int64", form="index", grad=False), "j": T(3, dtype="int64", form="index", grad=False),
        "m": T(2, dtype="bool"), "n": T(3, 4, dtype="bool"), "h": T(3, form="index", grad=False), "y": T(2, 3, 4),
        "z": T(dtype="int64", form="index"), "b": T(dtype="bool"),
    }  # fmt: skip
    small = {**inputs, "i": T(3, dtype="int64", form="ones"), "j": T(3, dtype="int64", form="ones")}
    for key in KEYS:
        for layout in ("contiguous", "transposed"):
            yield Case(
                f"x[{key.strip('()') if ':' in key and key.startswith('(') else key}]",
                {**small, "x": T(2, 3, 4, layout=layout)},
                grad=1,
            )
        for dtype in ("int64", "bool", "bfloat16", "complex64"):
            yield Case(f"x[{_bare(key)}]", {**small, "x": T(2, 3, 4, dtype=dtype)}, grad=0, exact_text=False)
        for value in VALUES:
            yield Case(f"(lambda t: (t.__setitem__({_call(key)}, {value}), t)[1])(x.detach().clone())", small, grad=0)
    for key in KEYS:
        yield Case(f"(lambda t: (t.__setitem__({_call(key)}, 3), t)[1])(x.clone())", small, grad=1)


def _bare(key: str) -> str:
    return key[1:-1] if ":" in key and key.startswith("(") else key


def _call(key: str) -> str:
    """The key as an expression: slices spelled out."""
    if ":" not in key:
        return key
    parts = _bare(key).split(",") if "[" not in key else _outer(_bare(key))
    shown = [_slice(p) if ":" in p else p for p in parts]
    return f"({', '.join(shown)},)" if len(shown) > 1 else shown[0]


def _outer(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text + ","):
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [p for p in parts if p]


def _slice(text: str) -> str:
    return f"slice({', '.join(p or 'None' for p in text.split(':'))})" if text != ":" else "slice(None)"
