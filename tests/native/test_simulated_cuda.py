"""The CUDA side of matrix products without a GPU: a driver, a cuBLASLt and an NVRTC of the tests' own (simulated_cuda/).

What runs is the core's own code for CUDA: operand mapping, descriptors, plans and their measured choice, workspaces, the disk
cache, and our kernels' sources compiled for the host. What only hardware can tell is in tests/gpu.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INSTALLED = str(Path(native.__file__).parents[3])  # the folder the packages under test are in
KERNELS = ROOT / "native" / "src" / "cuda" / "kernels"
SOURCES = [
    KERNELS / f"{name}.cuh"
    for name in ("gemm_types", "gemm_activations", "gemm_columns", "skinny_narrow", "skinny_wide", "skinny")
]


# Inline PTX of the kernels, and what stands for it on the host.
PTX = (
    (r"float f;\s+asm\(\"cvt\.f32\.f16[^;]*;\".*?\);\s+return f;", "return half_to_float(v);"),
    (r"T h;\s+asm\(\"cvt\.rn\.f16\.f32[^;]*;\".*?\);\s+return h;", "return float_to_half(v);"),
    (r"T h;\s+asm\(\"cvt\.rn\.bf16\.f32[^;]*;\".*?\);\s+return h;", "return float_to_bfloat16(v);"),
    (r"A r;\s+asm\(\"rcp\.[^;]*;\".*?\);\s+return r;", "return 1 / x;"),
    (r"A r;\s+asm\(\"ex2\.[^;]*;\".*?\);\s+return r;", "return exp2f(x);"),
    (r"unsigned r;\s+asm\(\"cvt\.rn\.[^;]*;\".*?\);\s+return r;", "return put(low) | unsigned(put(high)) << 16;"),
    (r"\s+asm volatile\(\"griddepcontrol\.wait;\" ::: \"memory\"\);", ""),
    (r"\s+asm\(\s*\"mma\.sync.*?\);\n", "\n  tensor_core(d, a, b0, b1);\n"),
)


def compiled(source: Path, to: Path, *options: str) -> None:
    command = [
        shutil.which("g++") or "g++",
        "-std=c++20",
        "-O1",
        "-w",
        "-shared",
        "-fPIC",
        "-pthread",
        str(source),
        "-o",
        str(to),
        "-ldl",
        *options,
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:3000]


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """The folder with the libraries; the environment variables that make the core use them."""
    if not sys.platform.startswith("linux") or shutil.which("g++") is None or not SOURCES[0].exists():
        pytest.skip("needs g++ and the source tree")
    folder = tmp_path_factory.mktemp("simulated_cuda")
    text = "".join(source.read_text() for source in SOURCES)
    text = re.sub(r"^#(include|pragma once).*$", "", text, flags=re.MULTILINE)
    for ptx, host in PTX:
        text = re.sub(ptx, host, text, flags=re.DOTALL)
    assert "asm(" not in text
    (folder / "kernels.inc").write_text(text)
    compiled(HERE / "simulated_cuda" / "driver.cpp", folder / "libcuda.so.1")
    compiled(HERE / "simulated_cuda" / "nvrtc.cpp", folder / "libnvrtc.so.13")
    compiled(HERE / "simulated_cuda" / "cublaslt.cpp", folder / "libcublasLt.so.13")
    for dtype in range(4):
        compiled(
            HERE / "simulated_cuda" / "kernels.cpp",
            folder / f"kernels_{dtype}.so",
            f"-DTYPE={dtype}",
            f'-DSOURCE="{folder}/kernels.inc"',
        )
    return folder


def kernel_variables(folder: Path, cache: Path | None = None) -> dict[str, str]:
    """Of the environment: where the core finds the simulated libraries."""
    return {
        "LD_LIBRARY_PATH": str(folder),
        "SHIM_CUBLASLT_PATH": str(folder / "libcublasLt.so.13"),
        "SHIM_NVRTC_PATH": str(folder / "libnvrtc.so.13"),
        "SIMULATED_KERNELS": str(folder),
        "SIMULATED_PYTHON": sys.executable,
        "SIMULATED_COMPILER": str(HERE / "simulated_cuda" / "compile.py"),
        "SHIM_CACHE_DIR": str(cache or folder / "cache"),
    }


def run(folder: Path, code: str, cache: Path | None = None, **variables: str) -> str:
    environment = {
        **os.environ,
        "SHIM_TORCH_COMPILE_AHEAD": "0",  # what is compiled does not hang on who is quicker
        **variables,
        **kernel_variables(folder, cache),
        "PYTHONPATH": os.pathsep.join([INSTALLED, str(HERE / "simulated_cuda"), os.environ.get("PYTHONPATH", "")]),
    }
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    return result.stdout


PARTS = {
    "linear_checks": ("linear", "accumulation", "views", "legacy", "streams"),
    "matmul_checks": ("products", "float8", "wide_results"),
    "epilogue_checks": ("activations", "fusion", "two_layers"),
    "skinny_checks": ("kernels", "few_rows", "skinny"),
    "direct_launch_checks": ("direct",),
}


@pytest.mark.parametrize(("module", "part"), [(module, part) for module, parts in PARTS.items() for part in parts])
def test_part(simulated, module, part):
    out = run(simulated, f"import {module}; {module}.{part}()")
    assert "ok" in out


def test_no_direct_launches(simulated):
    code = "import linear_checks; linear_checks.linear(); print(linear_checks._core.gemm_status()['direct'])"
    assert run(simulated, code, SHIM_GEMM_DIRECT="0").split() == ["ok", "0"]


@pytest.mark.parametrize(
    "part", ["reuse", "copies", "streams", "many_streams", "graphs", "exhaustion", "threads", "by_address"]
)
def test_memory(simulated, part):
    run(simulated, f"import memory_checks; memory_checks.{part}()")


@pytest.mark.parametrize("part", ["without_a_record", "errors_of_cupy", "in_a_kernel"])
def test_failures(simulated, part):
    run(simulated, f"import failure_checks; failure_checks.{part}()")


def test_memory_without_the_cache(simulated):
    run(simulated, "import memory_checks; memory_checks.uncached()", PYTORCH_NO_CUDA_MEMORY_CACHING="1")


def test_measured_choice_is_kept_on_disk(simulated, tmp_path):
    code = "import linear_checks; linear_checks.tuned()"
    assert [run(simulated, code, tmp_path).split() for _ in range(2)] == [["1"], ["0"]]
    assert any(f.name.startswith("cublaslt-130100-Simulated_GPU-132-13000") for f in tmp_path.iterdir())


def test_damaged_measurements_are_made_again(simulated, tmp_path):
    code = "import linear_checks; linear_checks.tuned()"
    run(simulated, code, tmp_path)
    (kept,) = tmp_path.glob("cublaslt-*.bin")
    good = kept.read_bytes()
    for damaged in (good[:-1], good[:200] + bytes([good[200] ^ 1]) + good[201:]):
        kept.write_bytes(damaged)
        assert [run(simulated, code, tmp_path).split() for _ in range(2)] == [["1"], ["0"]]
        assert kept.stat().st_size == len(good)


def test_damaged_kernels_are_made_again(simulated, tmp_path):
    os.chmod(tmp_path, 0o777)
    code = "import skinny_checks; skinny_checks.skinny()"
    run(simulated, code, tmp_path)
    kept = {path: path.read_bytes() for path in (tmp_path / "kernels").iterdir()}
    assert kept and all(f.stat().st_mode & 0o777 == 0o700 for f in (tmp_path, tmp_path / "kernels"))
    for path, good in kept.items():
        path.write_bytes(good[: len(good) // 2])
    run(simulated, code, tmp_path)
    assert kept == {path: path.read_bytes() for path in (tmp_path / "kernels").iterdir()}


# Kernels of every family, on the host: what CuPy does on CUDA cannot be had here, so only tests that need nothing of it.
KERNELS = (
    "(test_cat and 0-dtype1) or (rows_by_index and 3-index_dtype1) or points or index_add or (embedding_gradient and dtype2) or draws or "
    "(dropout and shape0-dtype2) or (group_norm and shape0-3-dtype0) or (cross_entropy and mean-dtype2) or "
    "(running_sums and shape2-1-dtype2) or (large_numbers and 3000) or "
    "(not_zero and shape2 and (dtype0 or dtype2)) or (sorts and shape3--1-dtype1) or no_call_of_cupy"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        ("test_cuda_kernels.py", KERNELS),
        ("test_cuda_special.py", "zeta or polygamma or gamma_functions"),
        ("test_cuda_images.py", "grid or outside or other_sizes"),
        ("test_device_asserts.py", "test_assert"),
        ("test_cuda_memory.py", "casts_of_narrow_floats"),
        ("test_cuda_complex.py", "not dtype1 and not transforms"),
        ("test_cuda_sums.py", "infinities and dtype0 or of_other_dtypes or gradients"),
        ("test_cuda_whole_numbers.py", "largest or 33-dtype5 or no_number or of_large or complex"),
    ],
)
def test_kernels_on_the_host(simulated, file, chosen):
    tests = ROOT / "tests" / "gpu" / file
    arguments = [str(tests), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", chosen]
    out = run(simulated, f"import pytest, sys; sys.exit(pytest.main({arguments!r}))")
    assert " passed" in out and "skipped" not in out


OPERATORS = {
    "operator_checks": ("losses", "places", "moves", "pools", "bounds_and_signs", "declines"),
    "cupy_checks": ("through_cupy",),
}


@pytest.mark.parametrize(("module", "part"), [(m, part) for m, parts in OPERATORS.items() for part in parts])
def test_operators(simulated, module, part):
    run(simulated, f"import {module}; {module}.{part}()")


LAUNCHES = {
    "draw_checks": ("draws", "draws_of_inputs", "permutations", "places_of_weights"),
    "launch_checks": (
        "creation",
        "joins",
        "moves",
        "gradients_of_rows",
        "selections",
        "activations",
        "angles",
        "orders_of_none",
        "given_results",
    ),
}


@pytest.mark.parametrize(("module", "part"), [(m, part) for m, parts in LAUNCHES.items() for part in parts])
def test_few_launches(simulated, module, part):
    run(simulated, f"import {module}; {module}.{part}()")


@pytest.mark.parametrize(
    "part", ["norms", "cells", "sizes", "dots", "matrices", "causal", "masked", "few_passes", "packs"]
)
def test_few_launches_of_layers(simulated, part):
    run(simulated, f"import layer_launch_checks; layer_launch_checks.{part}()")


def test_copies_of_weights(simulated):
    run(simulated, "import layout_checks; layout_checks.copies()")


def test_narrow_scores(simulated):
    run(simulated, "import score_checks; score_checks.narrow_scores()")


@pytest.mark.parametrize(
    "part",
    [
        "values",
        "columns",
        "training",
        "outside",
        "streams",
        "replays",
        "fed_back",
        "graph_training",
        "graph_optimizers",
        "first_call",
    ],
)
def test_compiled_functions(simulated, part):
    run(simulated, f"import compiled_checks; compiled_checks.{part}()")


@pytest.mark.parametrize(
    "part", ["planned", "planned_graphs", "planned_without_breaks", "graphs_after_it", "filled_elsewhere"]
)
def test_first_calls(simulated, part):
    run(simulated, f"import first_call_checks; first_call_checks.{part}()")


@pytest.mark.parametrize("part", ["rules", "of_each_dtype"])
def test_optimizers(simulated, part):
    run(simulated, f"import optimizer_checks; optimizer_checks.{part}()")


@pytest.mark.parametrize("part", ["graphs_of_sizes", "memory_of_sizes", "results_of_sizes", "graphs_by_name"])
def test_graphs_of_several_sizes(simulated, part):
    run(simulated, f"import size_checks; size_checks.{part}()")


@pytest.mark.parametrize("part", ["two_calls", "many_calls", "without_a_pass", "freed"])
def test_graphs_before_a_backward_pass(simulated, part):
    run(simulated, f"import awaited_checks; awaited_checks.{part}()")


@pytest.mark.parametrize("part", ["training", "functions", "refusals"])
def test_graphed_callables(simulated, part):
    run(simulated, f"import graphed_checks; graphed_checks.{part}()")
