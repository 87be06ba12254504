"""Which pointwise operators and sums run through CuPy on CUDA: those listed here and no others. Kernels have no code here: what is
asked for is looked at alone."""

import os
import tempfile

import shim_torch as torch

UNARY = (
    "isposinf isneginf isreal angle isinf isnan isfinite sign signbit abs neg square sqrt exp sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh floor ceil trunc round frac reciprocal logical_not bitwise_not sgn rsqrt sigmoid erf erfc erfinv digamma lgamma "
    "deg2rad rad2deg exp2 expm1 log log2 log10 log1p nan_to_num sinc relu i0 logit conj_physical sum mean prod any all count_nonzero"
).split()
BINARY = (
    "add sub mul div floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot eq ne lt le gt ge logical_and "
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor copysign nextafter heaviside logaddexp logaddexp2 xlogy gcd lcm "
    "isin float_power bitwise_left_shift bitwise_right_shift isclose clamp clamp_min clamp_max complex polar ldexp"
).split()
MORE = {
    "where": lambda t: torch.where(t == t, t, 1),
    "masked_fill": lambda t: t.masked_fill(t == t, 1),
    "addcmul": lambda t: torch.addcmul(t, t, t, value=2),
    "addcdiv": lambda t: torch.addcdiv(t, t, t),
    "lerp": lambda t: torch.lerp(t, t, 0.5),
    "add scaled": lambda t: torch.add(t, t, alpha=2),
    "to complex": lambda t: t.to(torch.complex64),
    "to bool": lambda t: t.to(torch.bool),
    "round to decimals": lambda t: t.round(decimals=1),
    "conj": lambda t: t.conj() * t,
    "fill": lambda t: t.fill_(1),
    "pow of a number": lambda t: t**1.5,
    "pow of a negative number": lambda t: t**-1,
    "number to a pow": lambda t: 2**t,
    "divided number": lambda t: 1 / t,
}
# By dtype, with why.
THROUGH_CUPY = {
    torch.float32: "",
    torch.bfloat16: "",
    torch.int64: "logit addcmul",  # seldom asked for
    torch.complex64: "asin acos atan asinh acosh atanh expm1 sinc nan_to_num logaddexp lerp",  # no functor of complex numbers
}


def wants_cupy(call, *given):
    try:
        call(*given)
    except ModuleNotFoundError as e:
        assert e.name == "cupy", e
        return True
    except (RuntimeError, NotImplementedError):
        pass  # a dtype that PyTorch refuses
    return False


def through_cupy():
    with tempfile.TemporaryDirectory() as cache:  # no other program is to find kernels without code
        os.environ.update(SIMULATED_NO_CODE="1", SHIM_CACHE_DIR=cache)
        check()


def check():
    for dtype, names in THROUGH_CUPY.items():
        one = torch.ones(6, dtype=dtype).cuda()
        found = {n for n in UNARY if wants_cupy(getattr(torch, n), one)}
        found |= {n for n in BINARY if wants_cupy(getattr(torch, n), one, one.clone())}
        found |= {n for n, call in MORE.items() if wants_cupy(call, one)}
        assert found == set(names.split()), (dtype, found ^ set(names.split()))
