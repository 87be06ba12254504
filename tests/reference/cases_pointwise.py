"""Arithmetic, powers, exponentials, trigonometry, rounding and bits."""

from collections.abc import Iterator

from _compare import COMPLEX, FLOATS, Case, T
from inplace_and_out import inplace_and_out

REAL = """abs angle ceil cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac isfinite isinf isnan isneginf isposinf
    lgamma neg positive rad2deg reciprocal round sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc atan asinh
    logical_not nan_to_num relu i0 fix negative absolute arctan arcsinh isreal conj_physical conj real""".split()
POSITIVE = "log log2 log10 log1p rsqrt lgamma digamma sqrt reciprocal".split()
UNIT = "asin acos atanh erfinv logit arcsin arccos arctanh".split()
BINARY = """add sub mul div remainder fmod maximum minimum fmax fmin atan2 hypot copysign floor_divide true_divide subtract
    multiply divide eq ne lt le gt ge xlogy logaddexp logaddexp2 heaviside rsub pow float_power logical_and logical_or
    logical_xor nextafter not_equal greater less_equal arctan2""".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm".split()
NOT_SMOOTH = {"floor_divide", "heaviside"}


def cases() -> Iterator[Case]:
    yield from unary()
    yield from binary()
    yield from numbers()
    yield from symbols()
    yield from inplace_and_out()
    yield from several_operands()
    yield from rounding()
    yield from complex_parts()


def unary() -> Iterator[Case]:
    for name in REAL:
        call = f"torch.{name}(a)"
        yield Case(call, {"a": T(3, 4, layout="transposed")})
        for dtype in (*FLOATS, *COMPLEX, "int64", "int32", "uint8", "bool"):
            yield Case(
                call, {"a": T(5, dtype=dtype)}, grad=1 if dtype in ("float16", "bfloat16") else 2, exact_text=False
            )
        yield Case(call, {"a": T(18, form="edges")}, grad=1)
        yield Case(call, {"a": T()})
        yield Case(call, {"a": T(0, 3)})
    for name in POSITIVE:
        for dtype in (*FLOATS, *COMPLEX, "int64"):
            yield Case(f"torch.{name}(a)", {"a": T(5, dtype=dtype, form="positive")}, exact_text=False)
        yield Case(f"torch.{name}(a)", {"a": T(18, form="edges")}, grad=1)
    for name in UNIT:
        for dtype in (*FLOATS, *COMPLEX, "int64"):
            yield Case(f"torch.{name}(a)", {"a": T(5, dtype=dtype, form="unit")}, exact_text=False)
        yield Case(f"torch.{name}(a)", {"a": T(18, form="edges")}, grad=0)
    for name in ("acosh", "arccosh"):
        for dtype in FLOATS:
            yield Case(f"torch.{name}(a)", {"a": T(5, dtype=dtype, form="above")})
    for name in ("abs", "exp", "floor", "clamp_min_", "neg", "sigmoid"):
        method = f"a.{name}()" if name != "clamp_min_" else "a.clone().clamp_min_(0.5)"
        yield Case(method, {"a": T(2, 3, layout="strided")})


def binary() -> Iterator[Case]:
    for name in BINARY:
        call = f"torch.{name}(a, b)"
        order = 1 if name in NOT_SMOOTH else 2
        yield Case(call, {"a": T(2, 3, form="positive"), "b": T(3, form="positive")}, grad=order)
        yield Case(call, {"a": T(2, 1, form="positive"), "b": T(1, 4, form="positive")}, grad=order)
        yield Case(
            call, {"a": T(3, 4, layout="transposed"), "b": T(3, 4, layout="transposed", form="positive")}, grad=1
        )
        yield Case(call, {"a": T(18, form="edges"), "b": T(18, form="ties")}, grad=0)
        yield Case(call, {"a": T(18, form="ties"), "b": T(18, form="ties")}, grad=0)
        for left in ("float32", "bfloat16", "int64", "uint8", "bool", "complex64"):
            for right in ("float64", "float16", "int32", "bool", "complex128"):
                yield Case(
                    call,
                    {"a": T(4, dtype=left, form="positive"), "b": T(4, dtype=right, form="positive")},
                    grad=1,
                    exact_text=False,
                )
        yield Case(
            call, {"a": T(4, dtype="bfloat16", form="positive"), "b": T(4, dtype="bfloat16", form="positive")}, grad=1
        )
        yield Case(call, {"a": T(4, dtype="int64"), "b": T(4, dtype="int64", form="positive")})
        yield Case(
            call, {"a": T(dtype="float64", form="positive"), "b": T(4, dtype="float32", form="positive")}, grad=1
        )
        yield Case(call, {"a": T(4, dtype="int32", form="positive"), "b": T(dtype="float64", form="positive")}, grad=1)
        yield Case(call, {"a": T(0, 3), "b": T(1, 3)}, grad=0)
        yield Case(call, {"a": T(2, 3), "b": T(4)})
    for name in BITS:
        for left, right in (
            ("int64", "int64"),
            ("int32", "int64"),
            ("uint8", "uint8"),
            ("bool", "bool"),
            ("uint8", "int8"),
            ("float32", "int64"),
        ):
            yield Case(
                f"torch.{name}(a, b)",
                {"a": T(6, dtype=left), "b": T(6, dtype=right, form="positive")},
                exact_text=False,
            )
    for name in ("maximum", "minimum", "fmax", "fmin", "atan2", "pow", "where"):
        call = f"torch.{name}(a, b)" if name != "where" else "torch.where(a > b, a, b)"
        yield Case(call, {"a": T(12, form="ties"), "b": T(12, form="ties")}, grad=1)
        yield Case(call, {"a": T(12, form="nan"), "b": T(12, form="nan")}, grad=0)


def numbers() -> Iterator[Case]:
    """Python numbers in tensors' places, on both sides."""
    for name in ("add", "sub", "mul", "div", "remainder", "fmod", "floor_divide", "pow", "eq", "ne", "lt", "le", "gt", "ge", "copysign",
                 "true_divide", "xlogy", "float_power", "rsub"):  # fmt: skip
        for dtype in ("float32", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"):
            for number in ("2", "2.5", "True", "3j"):
                yield Case(
                    f"torch.{name}(a, {number})", {"a": T(4, dtype=dtype, form="positive")}, grad=1, exact_text=False
                )
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
        for dtype in ("int64", "uint8", "bool", "float32"):
            yield Case(f"torch.{name}(a, 3)", {"a": T(4, dtype=dtype)}, exact_text=False)
            yield Case(f"torch.{name}(3, a)", {"a": T(4, dtype=dtype)}, exact_text=False)
    for name in ("pow", "remainder", "xlogy", "float_power"):
        for number in ("2", "2.5", "0", "0.0", "-1"):
            yield Case(f"torch.{name}({number}, a)", {"a": T(4, form="positive")}, grad=2, exact_text=False)
            yield Case(f"torch.{name}({number}, a)", {"a": T(4, dtype="int64", form="positive")}, exact_text=False)
    for number in ("0", "1", "2", "3", "0.5", "-1", "-0.5", "-2", "2.5", "1.0", "0.0"):
        yield Case(f"torch.pow(a, {number})", {"a": T(6, form="positive")})
        yield Case(f"torch.pow(a, {number})", {"a": T(18, form="edges")}, grad=1)
        yield Case(f"torch.pow(a, {number})", {"a": T(5, dtype="int64")}, exact_text=True)
    for alpha in ("2", "0.5", "True"):
        for dtype in ("float32", "int64", "bool", "bfloat16"):
            yield Case(f"torch.add(a, b, alpha={alpha})", {"a": T(4, dtype=dtype), "b": T(4, dtype=dtype)}, grad=1)
            yield Case(f"torch.sub(a, b, alpha={alpha})", {"a": T(4, dtype=dtype), "b": T(4, dtype=dtype)}, grad=1)
    yield Case("torch.add(a, 2, alpha=3)", {"a": T(4)})
    yield Case("torch.sub(a, 2, alpha=3)", {"a": T(4)})
    yield Case("torch.rsub(a, 2, alpha=3)", {"a": T(4)})
    yield Case("torch.rsub(a, b, alpha=3)", {"a": T(4), "b": T(4)})


def symbols() -> Iterator[Case]:
    """Python's operators, reflected and in place."""
    for sign in "+ - * / // % ** == != < <= > >=".split():
        for dtype in ("float32", "int64", "uint8", "bool", "bfloat16", "complex64"):
            text = {"exact_text": dtype not in ("bool", "complex64")}
            yield Case(
                f"a {sign} b",
                {"a": T(4, dtype=dtype, form="positive"), "b": T(4, dtype=dtype, form="positive")},
                grad=1,
                **text,
            )
            yield Case(f"a {sign} 2", {"a": T(4, dtype=dtype, form="positive")}, grad=1, **text)
            yield Case(f"3 {sign} a", {"a": T(4, dtype=dtype, form="positive")}, grad=1, **text)
            yield Case(f"2.5 {sign} a", {"a": T(4, dtype=dtype, form="positive")}, grad=1, **text)
            yield Case(f"True {sign} a", {"a": T(4, dtype=dtype, form="positive")}, grad=1, **text)
            yield Case(f"a {sign} None", {"a": T(4, dtype=dtype)}, grad=0, exact_text=False)
            yield Case(f"'x' {sign} a", {"a": T(4, dtype=dtype)}, grad=0, exact_text=False)
    for sign in "& | ^ << >>".split():
        for dtype in ("int64", "bool", "uint8", "float32"):
            yield Case(
                f"a {sign} b",
                {"a": T(4, dtype=dtype, form="positive"), "b": T(4, dtype=dtype, form="positive")},
                exact_text=False,
            )
            yield Case(f"a {sign} 2", {"a": T(4, dtype=dtype, form="positive")}, exact_text=False)
            yield Case(f"3 {sign} a", {"a": T(4, dtype=dtype, form="positive")}, exact_text=False)
            yield Case(f"True {sign} a", {"a": T(4, dtype=dtype, form="positive")}, exact_text=False)
    for sign in ("+", "-", "~", "abs"):
        for dtype in ("float32", "int64", "bool", "uint8"):
            yield Case(f"{sign}(a)", {"a": T(4, dtype=dtype)}, exact_text=dtype != "float32" or sign != "~")
    yield Case("a == None", {"a": T(3)}, grad=0)
    yield Case("a != None", {"a": T(3)}, grad=0)
    yield Case("np.float32(2) * a", {"a": T(3)})
    yield Case("a * np.float64(2)", {"a": T(3)})
    yield Case("a + np.int64(2)", {"a": T(3, dtype="int32")})
    yield Case("[1, 2] == a", {"a": T(2)}, grad=0, exact_text=False)


def several_operands() -> Iterator[Case]:
    abc = {"a": T(2, 3), "b": T(3, form="positive"), "c": T(2, 1, form="positive")}
    for name in ("addcmul", "addcdiv"):
        for value in ("1", "0.5", "2"):
            yield Case(f"torch.{name}(a, b, c, value={value})", abc)
        yield Case(f"a.clone().{name}_(b, c, value=0.3)", abc)
        for dtype in ("int64", "float64", "bfloat16"):
            yield Case(
                f"torch.{name}(a, b, c)",
                {n: T(3, dtype=dtype, form="positive") for n in "abc"},
                grad=1,
                exact_text=False,
            )
    for weight in ("0.3", "0.7", "1"):
        yield Case(f"torch.lerp(a, b, {weight})", {"a": T(2, 3), "b": T(3)})
    yield Case("torch.lerp(a, b, c)", abc)
    yield Case("torch.lerp(a, b, 0.5)", {"a": T(3), "b": T(3, dtype="float64")}, exact_text=False)
    for bounds in ("0", "-0.5, 0.5", "min=0.2", "max=0.3", "min=1, max=-1", "min=None, max=1", "2.5", "0, 3", ""):
        for dtype in ("float32", "int64", "bfloat16", "uint8"):
            yield Case(f"torch.clamp(a, {bounds})", {"a": T(6, dtype=dtype)}, grad=1)
        yield Case(f"torch.clip(a, {bounds})", {"a": T(18, form="edges")}, grad=1)
    bounded = {"a": T(2, 6), "lo": T(6), "hi": T(2, 1)}
    for call in ("clamp(a, lo, hi)", "clamp(a, min=lo)", "clamp(a, max=hi)", "clamp(a, hi, lo)", "clamp_min(a, lo)", "clamp_max(a, hi)",
                 "clamp_min(a, 0.5)", "clamp_max(a, 0.5)"):  # fmt: skip
        yield Case(f"torch.{call}", bounded, grad=1)
    yield Case("torch.clamp(a, lo, hi)", {n: T(20, form="ties") for n in ("a", "lo", "hi")}, grad=1)
    yield Case("a.clone().clamp_(min=lo)", {"a": T(6), "lo": T(6)}, grad=1)
    yield Case("a.clone().clamp_(0, 1)", {"a": T(6)}, grad=1)
    condition = T(2, 3, dtype="bool")
    for call in ("torch.where(c, a, b)", "torch.where(c, a, 0)", "torch.where(c, 1.5, b)", "torch.where(c, 1, 0)", "torch.where(c, 1.0, 2)", "a.where(c, b)",
                 "torch.where(c, a, 2.5)", "torch.where(c)", "torch.where(c, True, False)"):  # fmt: skip
        for left, right in (
            ("float32", "float32"),
            ("int64", "float32"),
            ("bfloat16", "bfloat16"),
            ("float64", "int32"),
        ):
            yield Case(
                call, {"c": condition, "a": T(2, 3, dtype=left), "b": T(3, dtype=right)}, grad=1, exact_text=False
            )
    yield Case("torch.where(c, a, b)", {"c": T(3, dtype="float32", grad=False), "a": T(3), "b": T(3)})
    yield Case("torch.where(c, a, b)", {"c": T(3, dtype="uint8"), "a": T(3), "b": T(3)})


def rounding() -> Iterator[Case]:
    for mode in ("None", "'trunc'", "'floor'", "'up'"):
        for dtype in ("float32", "bfloat16", "int64", "int32", "uint8"):
            pair = {"a": T(8, dtype=dtype), "b": T(8, dtype=dtype, form="positive")}
            yield Case(f"torch.div(a, b, rounding_mode={mode})", pair, grad=1)
            yield Case(f"a.divide(2, rounding_mode={mode})", {"a": T(8, dtype=dtype)}, grad=1)
        yield Case(
            f"torch.div(a, b, rounding_mode={mode})", {"a": T(18, form="edges"), "b": T(18, form="ties")}, grad=0
        )
        yield Case(f"a.clone().div_(b, rounding_mode={mode})", {"a": T(8), "b": T(8)}, grad=1)
    for name in ("floor_divide", "remainder", "fmod", "div"):
        yield Case(f"torch.{name}(a, b)", {"a": T(4, dtype="int64"), "b": T(4, dtype="int64", form="ties")})
        yield Case(f"torch.{name}(a, 0)", {"a": T(4, dtype="int64")})
    for decimals in (0, 1, 2, -1):
        yield Case(f"torch.round(a, decimals={decimals})", {"a": T(6)}, grad=1)
        yield Case(f"torch.round(a, decimals={decimals})", {"a": T(6, dtype="int64")}, exact_text=False)
    yield Case("torch.logit(a, 0.1)", {"a": T(8, form="unit")}, grad=1)
    yield Case("torch.logit(a, eps=0.4)", {"a": T(8, form="unit")}, grad=1)
    for call in (
        "nan_to_num(a)",
        "nan_to_num(a, 1.0)",
        "nan_to_num(a, nan=2.0, posinf=3.0, neginf=-4.0)",
        "nan_to_num(a, posinf=1)",
    ):
        for dtype in ("float32", "float16", "bfloat16", "int64"):
            yield Case(f"torch.{call}", {"a": T(18, dtype=dtype, form="edges")}, grad=1)
    yield Case("torch.frexp(a)", {"a": T(8)}, grad=0)
    yield Case("torch.ldexp(a, b)", {"a": T(4), "b": T(4, dtype="int64")}, grad=1)
    yield Case("torch.ldexp(a, b)", {"a": T(4), "b": T(4)}, grad=1)
    for n in (0, 1, 2):
        yield Case(f"torch.polygamma({n}, a)", {"a": T(5, form="positive")}, grad=1, tolerance=20)
    yield Case("torch.mvlgamma(a, 2)", {"a": T(4, form="above")}, grad=1)
    for call in (
        "isclose(a, b)",
        "isclose(a, b, equal_nan=True)",
        "allclose(a, b)",
        "allclose(a, a)",
        "equal(a, b)",
        "isclose(a, b, rtol=1.0)",
        "isclose(a, b, atol=2.0)",
    ):
        for dtype in ("float32", "int64", "bfloat16", "bool", "complex64"):
            yield Case(
                f"torch.{call}", {"a": T(12, dtype=dtype, form="ties"), "b": T(12, dtype=dtype, form="ties")}, grad=0
            )
        yield Case(f"torch.{call}", {"a": T(18, form="edges"), "b": T(18, form="edges")}, grad=0)
        yield Case(f"torch.{call}", {"a": T(3), "b": T(3, dtype="float64")}, grad=0)


def complex_parts() -> Iterator[Case]:
    for dtype in COMPLEX:
        for call in ("a.real", "a.imag", "a.conj()", "torch.angle(a)", "a.abs()", "torch.view_as_real(a)", "a * a.conj()", "torch.sgn(a)", "a.is_complex()",
                     "torch.isreal(a)", "a.sum()", "a.mean()", "a.prod()", "a.resolve_conj()", "a.mT"):  # fmt: skip
            yield Case(call, {"a": T(2, 3, dtype=dtype)}, strides=False)
    for dtype in ("float32", "float64"):
        yield Case("torch.complex(a, b)", {"a": T(3, dtype=dtype), "b": T(3, dtype=dtype)})
        yield Case("torch.polar(a, b)", {"a": T(3, dtype=dtype), "b": T(3, dtype=dtype)})
        yield Case("torch.view_as_complex(a)", {"a": T(3, 2, dtype=dtype)})
    yield Case("torch.complex(a, b)", {"a": T(3), "b": T(3, dtype="float64")})
    yield Case("a.imag", {"a": T(3)})
    yield Case("a.real", {"a": T(3)})
    yield Case("torch.view_as_complex(a)", {"a": T(3, 3)})
