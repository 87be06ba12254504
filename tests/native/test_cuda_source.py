"""Our CUDA kernels compile for every operator and the dtypes it has; needs NVRTC and no GPU."""

import os

import pytest

from shim_torch._impl.extensions.cuda_libraries import candidates
from shim_torch._impl.native import _core

FLOATING = "frac silu gelu gelu_tanh exp expm1 log1p sqrt rsqrt tanh sigmoid erf reciprocal".split()
BOTH = "copy neg abs square relu sign floor round".split()
BINARY = "add sub mul floor_divide remainder fmod pow maximum minimum fmax fmin div_trunc".split()
TESTS = "eq lt logical_and".split()


@pytest.fixture(scope="module")
def path():
    found = [p for p in candidates("nvrtc") if os.path.exists(p)]
    if not found:
        pytest.skip("libnvrtc is not installed")
    return found[0]


FORMULAS = (
    "log_sigmoid mish hardswish hardsigmoid leaky_relu elu softplus threshold hardtanh hardshrink softshrink nan_to_num "
    "asinh acosh atanh lgamma erfinv erfc ndtr angle round_to"
).split()


def cases():
    f32, f64, i64, u8, b8 = _core.float32, _core.float64, _core.int64, _core.uint8, _core.bool
    yield from (("floating", op, f32, f32, _core.bfloat16, 1) for op in FLOATING)
    yield from ((str(d), op, d, d, d, 1) for op in BOTH for d in (f64, i64, u8))
    yield from ((str(d), op, d, d, d, 2) for op in BINARY for d in (f32, i64, u8))
    yield from ((str(d), op, d, b8, b8, 2) for op in TESTS for d in (f32, b8))
    yield from (
        ("three", op, f32, f32, _core.float16, 3)
        for op in "where clamp clamp_between add_scaled lerp addcmul addcdiv prelu_backward glu_gate_backward "
        "atan2_backward atan2_other_backward".split()
    )
    yield from (
        ("two", op, f32, f32, _core.bfloat16, 2)
        for op in (
            "igamma",
            "igammac",
            "bce_each",
            "bce_logits_each",
            "prelu",
            "prelu_weight_backward",
            "real_atan2",
            "real_hypot",
            "copysign",
            "xlogy",
            "logaddexp",
            "logaddexp2",
        )
    )
    yield from (("one", op, d, d, d, 1) for op in FORMULAS for d in (f32, f64))
    yield from (("signs", op, d, b8, b8, 1) for op in ("isposinf", "isneginf", "signbit") for d in (f32, i64))
    yield from (("curved", op, d, d, d, 2 if op == "zeta" else 1) for op in ("zeta", "polygamma") for d in (f32, f64))
    yield from (("divisors", op, d, d, d, 2) for op in ("gcd", "lcm") for d in (i64, u8))
    yield "whole", "heaviside", i64, i64, i64, 2
    yield "near", "is_close", f64, b8, b8, 3
    c64, c128 = _core.complex64, _core.complex128
    for c, real in ((c64, f32), (c128, f64)):
        yield from (("complex", op, c, c, c, 1) for op in "copy conj sgn reciprocal exp log sqrt tan sigmoid".split())
        yield from (
            ("complex", op, c, c, c, n) for n, ops in ((2, "add sub mul div pow"), (3, "where")) for op in ops.split()
        )
        yield from (("real", op, c, real, real, 1) for op in ("abs", "complex_angle", "copy"))
        yield from (("truth", op, c, b8, b8, n) for n, op in ((1, "copy"), (2, "eq"), (3, "is_close")))
        yield "parts", "complex", real, c, c, 2
    yield from (("fp8", "copy", d, d, f32, 1) for d in (_core.float8_e4m3fn, _core.float8_e5m2))
    yield from (("fp8", "copy", f32, f32, d, 1) for d in (_core.float8_e4m3fn, _core.float8_e5m2))


@pytest.mark.slow
def test_kernels_compile(path):
    for i, (_, op, of, result, out, inputs) in enumerate(cases()):
        log = _core.cuda_compile_pointwise(path, op, of, result, out, inputs, i % 2 == 0, 90)
        assert log == "", f"{op} of {of}: {log}"
    assert "no operator" in _core.cuda_compile_pointwise(path, "nonsense", of, result, out, 1, True, 90)
    complex64 = _core.complex64
    assert "no operator" in _core.cuda_compile_pointwise(path, "floor", complex64, complex64, complex64, 1, True, 90)


@pytest.mark.slow
def test_reductions_compile(path):
    f32, bf16, i64, u8, b8 = _core.float32, _core.bfloat16, _core.int64, _core.uint8, _core.bool
    for op, of, compute, out in (
        ("sum", bf16, f32, bf16),
        ("sum", _core.float64, _core.float64, f32),
        ("sum", b8, i64, i64),
        ("prod", f32, f32, f32),
        ("amax", u8, u8, u8),
        ("amin", i64, i64, i64),
        ("any_of", f32, b8, b8),
        ("all_of", b8, b8, b8),
        ("softmax", bf16, f32, bf16),
        ("sum", _core.complex64, _core.complex64, _core.complex64),
        ("prod", _core.float64, _core.complex128, _core.complex128),
        *(
            (name, bf16, f32, bf16)
            for name in ("norm_two", "norm_squares", "norm_root", "norm_one", "norm_greatest", "norm_least")
        ),
    ):
        for vector in (1, 2):
            log = _core.cuda_compile_reduction(path, op, of, compute, out, vector, 90)
            assert log == "", f"{op} of {of}: {log}"


FLOATS = (
    ("float", "float", 4),
    ("Bf16", "float", 8),
    ("Half", "float", 1),
    ("double", "double", 2),
)  # element, what it is computed in, width


def families():
    yield from of_rows()
    yield from of_sorts()
    yield from of_losses_and_images()
    yield from of_attention()
    yield from of_moves()


def of_rows():
    for t in ("u8", "i8", "int", "u32", "i64", "u64", "Half", "Bf16", "float", "double"):
        yield "small_collectives", {"ELEMENT": t}
    for t in ("Half", "Bf16", "float", "double"):
        yield "joined_rows", {"ELEMENT": t}
    for t in ("int", "Bf16", "Bool", "double", "i64"):
        yield "triangle", {"OUT": t}
    yield "permutation", {}
    yield "search", {"ELEMENT": "double", "OUT": "i64", "MAKES": 1}
    for t in ("float", "double", "Half", "Bf16", "i64", "u8"):
        yield "random", {"ELEMENT": t, "WIDE": int(t == "double"), "V": 8 if t in ("Half", "Bf16") else 4}
    for t, index, wide in (("u8", "int", 0), ("Wide16", "i64", 1)):
        yield "gather", {"ELEMENT": t, "INDEX": index, "WIDE": wide}
    for t in ("float", "double", "Half", "Bf16", "u8", "Bool", "i64", "short", "u64"):
        yield "gather", {"ELEMENT": t, "INDEX": "i64", "WIDE": 0, "ADDS": 1}
    for t, compute, vector in FLOATS:
        for loads, centred in ((8, 1), (1, 0), (0, 0)) if vector > 2 else ((4, 1),):
            yield "norm", {"ELEMENT": t, "C": compute, "V": vector, "LOADS": loads, "CENTRED": centred}
        for part in ("LOG", "LARGEST", "MAKES", "MOMENTS") if vector > 2 else ("LOG",):
            yield "rows", {"ELEMENT": t, "C": compute, "OUT": t, "V": vector, "LOADS": 0, part: 1}
        yield "rows", {"ELEMENT": t, "C": compute, "OUT": t, "V": vector, "LOADS": 4, "LOG": 0}
    for t, compute in (("Bool", "u8"), ("u8", "u8"), ("i64", "i64")):
        yield "rows", {"ELEMENT": t, "C": compute, "OUT": t, "V": 2, "LOADS": 0, "LARGEST": 0}
        yield "scan", {"ELEMENT": t, "C": "i64", "OUT": "i64", "V": 2, "SUMS": "Multiply"}
        yield "scan", {"ELEMENT": t, "C": "u32", "OUT": "u64", "V": 2, "PICKS": 1}
    for t, compute, vector in FLOATS:
        for join in ("Add", "LogAddExp"):
            yield "scan", {"ELEMENT": t, "C": compute, "OUT": t, "V": min(vector, 4), "SUMS": join}
        yield "scan", {"ELEMENT": t, "C": compute, "OUT": "i64", "V": 1, "EXTREME": 1}
        yield "scan", {"ELEMENT": t, "C": "u32", "OUT": "Wide16", "V": vector, "PICKS": 1}


def of_sorts():
    for t, pair in (("float", 8), ("Bf16", 4), ("u8", 4), ("short", 4), ("Bool", 4), ("i64", 16), ("double", 16)):
        for keys in (2048 if pair == 16 else 4096, 16):
            yield "sort", {"ELEMENT": t, "KEYS": keys, "PAIR": pair}
        yield "select", {"ELEMENT": t, "KEYS": 1024, "PAIR": max(pair, 8), "SELECT": 1, "V": 2}
        yield "radix", {"ELEMENT": t}
        yield "kthvalue", {"ELEMENT": t}
        if t != "Bool":
            yield "search", {"ELEMENT": t, "OUT": "int", "MAKES": 0}
        yield "heads", {"ELEMENT": t, "C": "u32", "OUT": "i64", "V": 1, "HEADS": 1}
        for count, slots in (("u32", 1024), ("float", 8192), ("double", 4096), ("u32", 0)):
            compare = t if t in ("float", "double") else "float" if t == "Bf16" else "i64"
            yield (
                "histogram_unique",
                {"ELEMENT": t, "C": compare, "V": 2, "COUNT": count, "TALLY": 1 + slots // 8192, "SLOTS": slots},
            )
        for join in ("Sum", "Product", "Greatest", "Least"):
            yield "scatter_reduce", {"ELEMENT": t, "INDEX": "int", "WIDE": 0, "ADDS": 1, "JOIN": join}


def of_losses_and_images():
    for t, compute, vector in FLOATS:
        own = {"ELEMENT": t, "C": compute, "V": vector}
        for loss in range(6):
            yield "pointwise_loss", {**own, "LOSS": loss}
        yield "class_loss", {**own, "V": 1}
        yield "recurrent", {**own, "V": 1}
        yield "dot", own
        yield "depthwise", {**own, "V": 1, "TAPS": 4}
        for part in (
            {"NORM": 0},
            {"NORM": 2},
            {"ADAM": 1},
            {"ADAM": 7},
            {"SGD": 1},
            {"SGD": 3},
            *({"STEP": n} for n in range(1, 10)),
        ):
            yield "foreach", {**own, **part}
        functors = {"RESULT": compute, "LOGIC": 0, "T0": t, "EACH": 1, "K1": 0}
        yield "each", {**own, **functors, "OP": "addcdiv", "N_IN": 3, "EXTRA": 1, "K2": 0, "K3": 0}
        yield "each", {**own, **functors, "OP": "mul", "N_IN": 2, "EXTRA": 0, "K2": 1, "K3": 0}
        yield "each", {**own, **functors, "OP": "sqrt_", "N_IN": 1, "EXTRA": 0, "K2": 0, "K3": 0}
        for part in ({}, {"KIND": 1}, {"KIND": 2}, {"KIND": 3}, {"PADDING": 0}, {"PADDING": 2}):
            yield "images", {**own, "V": 1, **part}
        for kind in (0, 2):
            yield "images", {**own, "KIND": kind}
        yield "channels", {**own, "P": t}
        if t == compute:
            yield "decompositions", {**own, "V": 1, "ROWS": 96 if t == "double" else 128}
            yield "ctc_loss", {**own, "V": 1}
        yield "embedding_bag", {**own, "INDEX": "int" if vector > 2 else "i64"}
        yield "cross_polar", {"ELEMENT": t, "C": compute}
        yield "variance", {"ELEMENT": t, "C": compute, "V": min(vector, 4)}
        yield "random", {"ELEMENT": t, "WIDE": 0, "V": 4, "POISSON": 1}
        yield "random", {"ELEMENT": t, "WIDE": int(t == "double"), "V": 4, "RAISED": 1}
        yield "random_of_input", {"ELEMENT": t, "WIDE": int(t == "double")}
        yield "multinomial", {"ELEMENT": t, "WIDE": int(t == "double")}
        yield "two_results", {"ELEMENT": t, "C": compute, "V": vector, "FLOATS": 1}
        if t == compute:
            yield "quantile", {"ELEMENT": t}
        for shape in (1, 2, 3, 4):
            yield "random", {"ELEMENT": t, "WIDE": int(t == "double"), "V": 4, "DRAW": shape}
        for frame in (0, 1):
            yield "image_rearrange", {"ELEMENT": t, "C": compute, "ADDS": 1, "FRAME": frame}


def of_attention():
    for family, t, size in (
        ("attention", "Half", 64),
        ("attention", "Bf16", 128),
        ("attention_backward", "Bf16", 64),
        ("attention_backward", "Half", 128),
    ):
        yield (
            family,
            {
                "ELEMENT": t,
                "D": size,
                "TILES": 2 if size == 64 else 1,
                "CAUSAL": 1,
                "MASK": 2,
                "DROPS": int(t == "Half"),
            },
        )
    for t, size, mask in (("Half", 64, 0), ("Bf16", 128, 2), ("Bf16", 64, 1)):
        hopper = {
            "ELEMENT": t,
            "KIND_HALF": int(t == "Half"),
            "D": size,
            "TILES": 1,
            "CAUSAL": int(mask == 0),
            "MASK": mask,
            "PAIRS": int(mask == 2),
        }
        yield "attention_hopper_backward", {**hopper, "DROPS": int(mask == 0), "HOPPER": 1}
        if mask:  # few queries
            split = {**hopper, "DROPS": 0, "SPLIT": 1}
            yield (
                "attention",
                {name: split[name] for name in ("ELEMENT", "D", "TILES", "CAUSAL", "MASK", "DROPS", "SPLIT")},
            )
            yield "attention_hopper", {**split, "HOPPER": 1, **alone(1, 3)}
        yield "attention_join", {"ELEMENT": t}
        shared = {"GROUPS": 2, "BLOCKS": 2, "SPAN": 64, "STAGES": 3} if size == 64 else alone(2, 2)
        yield "attention_hopper", {**hopper, "DROPS": int(mask == 0), "HOPPER": 1, **shared}
    plain = {"KIND_HALF": 0, "D": 64, "TILES": 1, "MASK": 0, "PAIRS": 0, "DROPS": 0, "HOPPER": 1}
    for causal, groups, stages in ((0, 3, 3), (1, 3, 2), (0, 2, 3)):
        yield "attention_hopper", {"ELEMENT": "Bf16", "CAUSAL": causal, **plain, **alone(groups, stages)}


def alone(groups, stages):
    return {"GROUPS": groups, "BLOCKS": 1, "SPAN": 128, "STAGES": stages}


def of_moves():
    for t, v, side in (
        ("u8", 4, 128),
        ("u16", 2, 64),
        ("u16", 1, 64),
        ("u32", 1, 64),
        ("u64", 1, 32),
        ("Wide16", 1, 32),
    ):
        yield "transpose", {"ELEMENT": t, "V": v, "SIDE": side}
        yield (
            "two_results",
            {"ELEMENT": t.replace("Wide16", "Bool"), "C": t.replace("Wide16", "u8"), "V": v, "FLOATS": 0},
        )
        yield "pad", {"ELEMENT": t, "V": 16 if t == "u8" else 1, "WIDE": int(t == "u8")}
        yield "flip", {"ELEMENT": t, "V": 16 if t == "u8" else 2}
        yield "image_rearrange", {"ELEMENT": t, "C": "int", "ADDS": 0, "FRAME": v % 2, "R": 2}


@pytest.mark.slow
def test_families_compile(path):
    for family, macros in families():
        log = _core.cuda_compile_kernels(path, family, [f"{name}={value}" for name, value in macros.items()], 90)
        assert log == "", f"{family} with {macros}: {log}"
    assert "no such family" in _core.cuda_compile_kernels(path, "nonsense", [], 90)
