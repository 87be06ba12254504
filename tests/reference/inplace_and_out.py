"""Cases of cases_pointwise.py: operators in place, and with ``out=``."""

from __future__ import annotations

from collections.abc import Iterator

from _compare import Case, T


def inplace_and_out() -> Iterator[Case]:
    yield from inplace_and_out_of_two()
    yield from inplace_and_out_of_one()


def inplace_and_out_of_two() -> Iterator[Case]:
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "remainder",
        "fmod",
        "atan2",
        "copysign",
        "eq",
        "lt",
        "floor_divide",
        "logical_and",
        "xlogy",
    ):
        yield Case(f"a.clone().{name}_(b)", {"a": T(2, 3, form="positive"), "b": T(3, form="positive")}, grad=1)
        yield Case(f"a.{name}_(b)", {"a": T(2, 3, form="positive", grad=False), "b": T(3, form="positive")}, grad=1)
        yield Case(f"a.{name}_(b)", {"a": T(3, form="positive"), "b": T(3, form="positive")}, grad=1)
        yield Case(f"a.{name}_(b)", {"a": T(3, dtype="int64", form="positive"), "b": T(3, form="positive", grad=False)})
        yield Case(f"a.{name}_(b)", {"a": T(3, form="positive", grad=False), "b": T(2, 3, form="positive", grad=False)})
        yield Case(f"a.{name}_(2)", {"a": T(3, 4, layout="transposed", grad=False)})
        yield Case(
            f"torch.{name}(a, b, out=o)",
            {
                "a": T(2, 3, form="positive", grad=False),
                "b": T(3, form="positive", grad=False),
                "o": T(2, 3, grad=False),
            },
        )
        yield Case(
            f"torch.{name}(a, b, out=o)",
            {"a": T(2, 3, form="positive", grad=False), "b": T(3, form="positive", grad=False), "o": T(0, grad=False)},
        )
        yield Case(
            f"torch.{name}(a, b, out=o)",
            {
                "a": T(3, form="positive", grad=False),
                "b": T(3, form="positive", grad=False),
                "o": T(3, dtype="float64", grad=False),
            },
        )
        yield Case(
            f"torch.{name}(a, b, out=o)",
            {
                "a": T(3, form="positive", grad=False),
                "b": T(3, form="positive", grad=False),
                "o": T(3, dtype="int64", grad=False),
            },
        )
        yield Case(
            f"torch.{name}(a, b, out=o)",
            {"a": T(3, form="positive"), "b": T(3, form="positive"), "o": T(3, grad=False)},
            grad=0,
        )


def inplace_and_out_of_one() -> Iterator[Case]:
    for name in (
        "abs",
        "exp",
        "sqrt",
        "neg",
        "sigmoid",
        "tanh",
        "floor",
        "round",
        "square",
        "rsqrt",
        "relu",
        "nan_to_num",
        "sign",
        "log",
        "logit",
        "frac",
        "erf",
    ):
        yield Case(f"a.clone().{name}_()", {"a": T(2, 3, form="positive")}, grad=1)
        yield Case(f"a.{name}_()", {"a": T(2, 3, form="positive", layout="strided", grad=False)})
        yield Case(f"a.{name}_()", {"a": T(3, dtype="int64", form="positive")}, exact_text=False)
    for name in (
        "abs",
        "exp",
        "sqrt",
        "neg",
        "sigmoid",
        "tanh",
        "floor",
        "round",
        "square",
        "isposinf",
        "sign",
        "log",
        "signbit",
    ):
        yield Case(f"torch.{name}(a, out=o)", {"a": T(2, 3, form="positive", grad=False), "o": T(2, 3, grad=False)})
        yield Case(
            f"torch.{name}(a, out=o)",
            {"a": T(2, 3, form="positive", grad=False), "o": T(4, 2, dtype="float64", grad=False)},
        )
