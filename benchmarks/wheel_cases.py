"""Operators of stock wheels on a GPU, written against either library: what gpu_wheels.py and tests/gpu run.

A case is made from a :class:`Maker` (the library, the folder of the unzipped wheels and seeded random numbers), so that
both libraries get the same numbers. Here: the kernels of ``vllm._C_stable_libtorch``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FP8_MAX = 448.0


class Case(NamedTuple):
    """``call`` is what is timed; ``outputs`` gives the results of one call from fresh inputs; ``reference`` the same
    results in float64 by plain operators, or None for what is compared between the libraries alone."""

    call: Callable[[], Any]
    outputs: Callable[[], Sequence[Any]]
    reference: Callable[[], Sequence[Any]] | None = None


class Maker:
    """Random inputs on the GPU, the same for both libraries. ``wheels``: the folder that holds ``vllm`` and others."""

    def __init__(self, torch: Any, wheels: Path, name: str) -> None:
        self.torch, self.wheels = torch, wheels
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, *shape: int, dtype: str = "bfloat16", scale: float = 1.0) -> Any:
        numbers = self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        return self.torch.from_numpy(numbers).to("cuda").to(getattr(self.torch, dtype))

    def integers(self, low: int, high: int, *shape: int, dtype: str = "int64") -> Any:
        return self.torch.from_numpy(self.rng.integers(low, high, shape).astype(dtype)).to("cuda")

    def array(self, numbers: np.ndarray) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(numbers)).to("cuda")

    def empty(self, *shape: int, dtype: str = "bfloat16") -> Any:
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def load(self, *parts: str) -> None:
        """Loads a shared object of a wheel, once."""
        self.torch.ops.load_library(str(self.wheels.joinpath(*parts)))

    def vllm(self) -> Any:
        self.load("vllm", "_C_stable_libtorch.abi3.so")
        return self.torch.ops._C

    def moe(self) -> Any:
        self.load("vllm", "_moe_C_stable_libtorch.abi3.so")
        return self.torch.ops._moe_C


def into(out: Any, call: Callable[[], Any], *more: Any) -> Callable[[], Sequence[Any]]:
    """Runs a call that writes to the given tensors, and gives them."""

    def run() -> Sequence[Any]:
        call()
        return [out, *more]

    return run


def normed(torch: Any, x: Any, weight: Any, eps: float) -> Any:
    x = x.double()
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight.double()


def rms_norm(rows: int, columns: int) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        ops, x, w, out = m.vllm(), m.normal(rows, columns), m.normal(columns), m.empty(rows, columns)

        def call() -> None:
            ops.rms_norm(out, x, w, 1e-6)

        return Case(call, into(out, call), lambda: [normed(m.torch, x, w, 1e-6)])

    return make


def fused_add_rms_norm(m: Maker) -> Case:
    ops, x, residual, w = m.vllm(), m.normal(4096, 4096), m.normal(4096, 4096), m.normal(4096)
    given = x.clone(), residual.clone()

    def outputs() -> Sequence[Any]:
        a, b = given[0].clone(), given[1].clone()
        ops.fused_add_rms_norm(a, b, w, 1e-6)
        return [a, b]

    def reference() -> Sequence[Any]:
        total = (given[0].float() + given[1].float()).bfloat16()
        return [normed(m.torch, total, w, 1e-6), total.double()]

    return Case(lambda: ops.fused_add_rms_norm(x, residual, w, 1e-6), outputs, reference)


def gated(name: str, rows: int = 4096, columns: int = 4096) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        op, x, out = getattr(m.vllm(), name), m.normal(rows, 2 * columns), m.empty(rows, columns)
        f = m.torch.nn.functional

        def reference() -> Sequence[Any]:
            a, b = x[:, :columns].double(), x[:, columns:].double()
            return [(f.silu(a) if "silu" in name else f.gelu(a, approximate="tanh")) * b]

        return Case(lambda: op(out, x), into(out, lambda: op(out, x)), reference)

    return make


def rotary(neox: bool) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        tokens, heads, shared, size, positions = 4096, 32, 8, 128, 8192
        ops, where = m.vllm(), m.integers(0, positions, tokens)
        q, k = m.normal(tokens, heads * size), m.normal(tokens, shared * size)
        angles = np.arange(positions)[:, None] / 10000.0 ** (np.arange(size // 2) * 2 / size)
        table = m.array(np.concatenate([np.cos(angles), np.sin(angles)], -1).astype(np.float32)).bfloat16()
        given = q.clone(), k.clone()

        def outputs() -> Sequence[Any]:
            a, b = given[0].clone(), given[1].clone()
            ops.rotary_embedding(where, a, b, size, table, neox)
            return [a, b]

        def turned(x: Any) -> Any:
            x = x.double().view(tokens, -1, size)
            both = table.double()[where][:, None]
            cos, sin = both[..., : size // 2], both[..., size // 2 :]
            a, b = (x[..., : size // 2], x[..., size // 2 :]) if neox else (x[..., ::2], x[..., 1::2])
            halves = [a * cos - b * sin, b * cos + a * sin]
            x = m.torch.cat(halves, -1) if neox else m.torch.stack(halves, -1)
            return x.reshape(tokens, -1)

        return Case(
            lambda: ops.rotary_embedding(where, q, k, size, table, neox), outputs, lambda: [turned(t) for t in given]
        )

    return make


def static_fp8(m: Maker) -> Case:
    ops, x, out = m.vllm(), m.normal(4096, 4096), m.empty(4096, 4096, dtype="float8_e4m3fn")
    scale = m.array(np.array([0.02], np.float32))
    reference = lambda: [(x.double() / scale.double()).clamp(-FP8_MAX, FP8_MAX)]
    call = lambda: ops.static_scaled_fp8_quant(out, x, scale)
    return Case(call, into(out, call), reference)


def dynamic_fp8(per_token: bool) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        ops, x, out = m.vllm(), m.normal(4096, 4096), m.empty(4096, 4096, dtype="float8_e4m3fn")
        scale = m.empty(*((4096, 1) if per_token else (1,)), dtype="float32")

        def call() -> None:
            if per_token:
                ops.dynamic_per_token_scaled_fp8_quant(out, x, scale, None)
            else:
                ops.dynamic_scaled_fp8_quant(out, x, scale)

        def reference() -> Sequence[Any]:
            largest = x.double().abs().amax(-1, keepdim=True) if per_token else x.double().abs().amax().view(1)
            return [x.double() / (largest / FP8_MAX), largest / FP8_MAX]

        return Case(call, into(out, call, scale), reference)

    return make


def dynamic_int8(m: Maker) -> Case:
    ops, x, out = m.vllm(), m.normal(4096, 4096), m.empty(4096, 4096, dtype="int8")
    scale = m.empty(4096, 1, dtype="float32")
    call = lambda: ops.dynamic_scaled_int8_quant(out, x, scale, None)

    def reference() -> Sequence[Any]:
        largest = x.double().abs().amax(-1, keepdim=True)
        return [x.double() / (largest / 127.0), largest / 127.0]

    return Case(call, into(out, call, scale), reference)


def group_fp8(m: Maker) -> Case:
    ops, x, out = m.vllm(), m.normal(4096, 4096), m.empty(4096, 4096, dtype="float8_e4m3fn")
    scale = m.empty(4096, 32, dtype="float32")

    def call() -> None:
        ops.per_token_group_fp8_quant(x, out, scale, 128, 1e-10, -FP8_MAX, FP8_MAX, False, False, False)

    def reference() -> Sequence[Any]:
        groups = x.double().view(4096, 32, 128)
        scales = groups.abs().amax(-1, keepdim=True) / FP8_MAX
        return [(groups / scales).view(4096, 4096), scales.view(4096, 32)]

    return Case(call, into(out, call, scale), reference)


def scaled_mm(rows: int) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        inner, columns = 4096, 4096
        ops, a = m.vllm(), m.normal(rows, inner, dtype="float8_e4m3fn")
        b = m.normal(columns, inner, dtype="float8_e4m3fn").t()
        of_a, of_b = (m.normal(*s, dtype="float32", scale=0.1).abs() for s in ((rows, 1), (1, columns)))
        out = m.empty(rows, columns)
        call = lambda: ops.cutlass_scaled_mm(out, a, b, of_a, of_b, None)
        reference = lambda: [(a.double() @ b.double()) * of_a.double() * of_b.double()]
        return Case(call, into(out, call), reference)

    return make


def kv_cache(m: Maker) -> Case:
    tokens, heads, size, block, blocks = 4096, 8, 128, 16, 512
    m.vllm()
    ops = m.torch.ops._C_cache_ops
    k, v = m.normal(tokens, heads, size), m.normal(tokens, heads, size)
    caches = [m.torch.zeros(blocks, block, heads, size, dtype=m.torch.bfloat16, device="cuda") for _ in "kv"]
    slots = m.array(m.rng.permutation(blocks * block)[:tokens].astype(np.int64))
    one = m.array(np.ones(1, np.float32))

    def reference() -> Sequence[Any]:
        found = []
        for t in (k, v):
            rows = m.torch.zeros(blocks * block, heads, size, dtype=m.torch.float64, device="cuda")
            rows[slots] = t.double()
            found.append(rows.view(blocks, block, heads, size))
        return found

    call = lambda: ops.reshape_and_cache_flash(k, v, *caches, slots, "auto", one, one)
    return Case(call, into(caches[0], call, caches[1]), reference)


def merge_states(m: Maker) -> Case:
    tokens, heads, size = 4096, 16, 128
    ops = m.vllm()
    parts = [m.normal(tokens, heads, size) for _ in range(2)]
    sums = [m.normal(heads, tokens, dtype="float32") for _ in range(2)]
    out, total = m.empty(tokens, heads, size), m.empty(heads, tokens, dtype="float32")

    def call() -> None:
        ops.merge_attn_states(out, total, parts[0], sums[0], parts[1], sums[1], None, None)

    def reference() -> Sequence[Any]:
        whole = m.torch.logaddexp(sums[0].double(), sums[1].double())
        weights = [(s.double() - whole).exp().t()[..., None] for s in sums]
        return [parts[0].double() * weights[0] + parts[1].double() * weights[1], whole]

    return Case(call, into(out, call, total), reference)


CASES: dict[str, Callable[[Maker], Case]] = {
    "rms_norm 16x4096": rms_norm(16, 4096),
    "rms_norm 4096x4096": rms_norm(4096, 4096),
    "fused_add_rms_norm 4096x4096": fused_add_rms_norm,
    "silu_and_mul 16x4096": gated("silu_and_mul", 16),
    "silu_and_mul 4096x4096": gated("silu_and_mul"),
    "gelu_tanh_and_mul 4096x4096": gated("gelu_tanh_and_mul"),
    "rotary_embedding neox 4096 tokens": rotary(True),
    "rotary_embedding gptj 4096 tokens": rotary(False),
    "static_scaled_fp8_quant 4096x4096": static_fp8,
    "dynamic_scaled_fp8_quant 4096x4096": dynamic_fp8(False),
    "dynamic_per_token fp8 4096x4096": dynamic_fp8(True),
    "dynamic_scaled_int8_quant 4096x4096": dynamic_int8,
    "per_token_group_fp8_quant 4096x4096": group_fp8,
    "cutlass_scaled_mm fp8 16x4096x4096": scaled_mm(16),
    "cutlass_scaled_mm fp8 4096^3": scaled_mm(4096),
    "reshape_and_cache_flash 4096 tokens": kv_cache,
    "merge_attn_states 4096 tokens": merge_states,
}
