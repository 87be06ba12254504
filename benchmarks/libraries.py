"""The test suites of kernel libraries under PyTorch and under ours, in one run: what passes with PyTorch and not with ours.

    python benchmarks/libraries.py SUITES [--only liger,fla] [--workers 4] [--together 3] [--seconds 30] [--keep 2] [--cheap]

SUITES holds a folder for each library (the names are those of ``ALL`` below) with what its repository or source package
has beside its code; the libraries themselves are installed or on ``PYTHONPATH``. PyTorch runs a sample of the tests for at
most ``--seconds``; then ours, under ``python -m compat run``, the same ones that passed. Each line gives the number that
passed with PyTorch, how many of them passed with ours and how many were not reached; below stand the others, with reasons.
A suite that needs what is not installed is named with what it lacks. ``--cheap`` takes of the large suites only files whose
kernels compile fast, and more cases of each. The tests of a file run in one process (they may share files on disk, and compile
the same kernels). Needs pytest-xdist.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclasses.dataclass(frozen=True)
class Suite:
    """Where a library's tests are and how they are run."""

    name: str
    needs: tuple[str, ...]  # packages that must be importable
    paths: tuple[str, ...]  # inside SUITES/name; patterns
    options: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()  # files whose names contain one of these
    keep: int = 0  # cases of each function, instead of the command's
    cheap: str = ""  # files (the names between test_ and .py) whose kernels compile fast
    cheap_keep: int = 0  # cases of each function of theirs
    settings: tuple[tuple[str, str], ...] = ()  # of the environment


ALL = [
    Suite(
        "liger",
        ("liger_kernel", "triton", "transformers"),
        ("test/ops/**/test_*.py", "test/transformers/test_*.py", "test/chunked_loss/test_*.py", "test/triton/test_*.py"),
        leave_out=("cute", "cutile", "trainer_integration", "npu", "flex_attention"),
        cheap="rms_norm fused_add_rms_norm layer_norm softmax relu_squared dyt group_norm kl_div jsd tvd embedding rope "
        "llama4_rope qwen2vl_mrope poly_norm sparsemax swiglu geglu cross_entropy",
        cheap_keep=8,
    ),
    Suite(
        "fla",
        ("fla", "triton", "einops"),
        ("tests/ops/**/test_*.py", "tests/modules/test_*.py"),
        keep=1,
        cheap="activation l2norm l2warp rotary token_shift cross_entropy kl_div cumsum index pooling pack csr",
        cheap_keep=6,
    ),
    Suite(
        "flaggems",
        ("flag_gems", "triton", "sqlalchemy"),
        ("tests/test_*.py",),
        options=("--quick",),
        settings=(("GEMS_VENDOR", "nvidia"),),
        cheap="abs acos add addcmul all amax aminmax angle any arange argmax asinh atan bitwise_and_tensor celu clamp clamp_min "
        "cos cummax cumsum diag div dot elu eq erf exp fill flip full ge gelu greater gt isfinite isnan le log log_softmax "
        "logical_and lt masked_fill max maximum mean min mul ne neg ones pow prod reciprocal relu rsqrt sigmoid silu sin "
        "softmax sqrt stack sub sum tanh tile trace triu where_self_out zeros",
        cheap_keep=3,
    ),
    Suite("gemlite", ("gemlite", "triton"), ("tests/test_*.py",), keep=8),
    Suite("conch", ("conch", "triton"), ("tests/*_test.py",)),
    Suite("triton_kernels", ("triton_kernels.matmul_ogs",), ("tests/test_*.py",)),
    Suite("tvm_ffi", ("tvm_ffi",), ("tests/python/test_*.py",), keep=4, cheap="optional_torch_c_dlpack"),
    Suite("quack", ("quack", "cutlass"), ("tests/test_*.py",), leave_out=("distributed", "sm100", "sm120", "jax")),
    Suite("tilelang", ("tilelang",), ("testing/python/**/test_*.py",), leave_out=("amd", "metal", "sm100")),
    Suite(
        "flashinfer",
        ("flashinfer",),
        ("tests/norm/test_*.py", "tests/attention/test_*.py", "tests/utils/test_*.py", "tests/moe/test_*.py"),
        leave_out=("trtllm", "sm100", "sm120", "blackwell", "comm"),
        keep=1,
        cheap="norm activation page rope sampling",
        cheap_keep=6,
    ),
    Suite("vllm", ("vllm",), ("tests/**/test_*.py",)),
    Suite("sglang", ("sglang",), ("test/**/test_*.py",)),
]  # fmt: skip


@dataclasses.dataclass
class Outcome:
    """What a suite did on one side: each test's outcome and why, and whether the time ended it."""

    tests: dict[str, tuple[str, str]]
    stopped: bool
    seconds: float
    tail: str

    def with_outcome(self, outcome: str) -> list[str]:
        return [name for name, (what, _) in self.tests.items() if what == outcome]


def missing(suite: Suite) -> list[str]:
    """What a suite needs that cannot be found."""

    def found(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ImportError:
            return False

    return [name for name in suite.needs if not found(name)]


def files(suite: Suite, folder: Path, cheap: bool) -> list[str]:
    """The suite's test files, relative to its folder."""
    listed = {path for pattern in suite.paths for path in folder.glob(pattern)}
    if cheap and suite.cheap:
        listed = {path for path in listed if path.stem.removeprefix("test_") in suite.cheap.split()}
    kept = [path for path in listed if not any(part in path.name for part in suite.leave_out)]
    return sorted(str(path.relative_to(folder)) for path in kept)


def ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits for a process; after ``seconds`` it and all that it started are stopped, and the answer is False."""
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


def run(suite: Suite, folder: Path, side: str, options: argparse.Namespace, ids: list[str] | None = None) -> Outcome:
    """One side of one suite in a process, and a copy of the suite, of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        record, log, names = Path(scratch, "record"), Path(scratch, "log"), Path(scratch, "ids")
        own = Path(scratch, suite.name)  # what one side's tests build there, the other's must not find
        shutil.copytree(folder, own)
        record.touch()
        pytest = ["pytest", "-q", "-p", "library_outcomes", "-p", "no:cacheprovider", "--rootdir", str(own)]
        pytest += [
            "--continue-on-collection-errors",
            "--record",
            str(record),
            "-W",
            "ignore",
            "--tb=line",
            *suite.options,
        ]
        if ids is None:
            paths = files(suite, folder, options.cheap)
            keep = options.cheap and suite.cheap_keep or suite.keep or options.keep
            pytest += ["--keep", str(keep), *paths]
        else:
            names.write_text("\n".join(ids))
            paths = sorted({name.split("::")[0] for name in ids})
            pytest += ["--only-ids", str(names), *paths]
        pytest += ["-n", str(max(1, min(options.workers, len(paths)))), "--dist", "loadfile"]
        hidden = ["--hidden", options.hidden] if options.hidden else []
        command = (
            [options.peer, "-m", *pytest]
            if side == "peer"
            else [sys.executable, "-m", "compat", "run", *hidden, "-m", *pytest]
        )
        search = [*([str(ROOT)] if side == "ours" else []), str(HERE), str(own)]
        before = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            **dict(suite.settings),
            "PYTHONPATH": os.pathsep.join(search + ([before] if before else [])),
        }
        start = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=own, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            whole = ended(process, options.seconds)
        lines = [json.loads(line) for line in record.read_text().splitlines() if line.endswith("}")]
        tests: dict[str, tuple[str, str]] = {}
        for line in lines:  # a test that passes and fails in its teardown has two lines: the later one counts
            tests[line["id"]] = (line["outcome"], line["why"])
        tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-3:]
        return Outcome(tests, not whole, time.monotonic() - start, " | ".join(line.strip()[:160] for line in tail))


def compared(suite: Suite, options: argparse.Namespace) -> str:
    """Runs a suite with PyTorch, then what passed with ours; the text of its rows."""
    folder = options.suites / suite.name
    if not folder.is_dir():
        return f"{suite.name:15} not run: {folder.name} is not in the suites' folder"
    absent = missing(suite)
    if absent:
        return f"{suite.name:15} not run: {', '.join(absent)} cannot be imported"
    peer = run(suite, folder, "peer", options)
    passed = peer.with_outcome("passed")
    if not passed:
        counts = Counter(f"{what}: {why[:110]}" for what, why in peer.tests.values())
        return f"{suite.name:15} nothing passed with PyTorch ({peer.tail})\n" + listed(counts.most_common(4))
    ours = run(suite, folder, "ours", options, passed)
    reached = [name for name in passed if name in ours.tests]
    both = [name for name in reached if ours.tests[name][0] == "passed"]
    between = [(name, *ours.tests[name]) for name in reached if ours.tests[name][0] != "passed"]
    between += [(name, what, why) for name, (what, why) in ours.tests.items() if what == "collection"]
    others = Counter(what for what, _ in peer.tests.values() if what != "passed")
    row = (
        f"{suite.name:15} PyTorch {len(passed):5} in {peer.seconds:3.0f} s, ours {len(both):5} in {ours.seconds:3.0f} s"
    )
    row += f", not reached {len(passed) - len(reached)}; with PyTorch also {dict(others)}"
    if not reached:
        row += f" ({ours.tail})"
    return row + "".join(f"\n    {name}: {what}: {why[:120]}" for name, what, why in between[: options.show])


def listed(rows: list[tuple[str, int]]) -> str:
    return "\n".join(f"    {count} {text}" for text, count in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=lambda text: Path(text).resolve())
    parser.add_argument("--only", default="", help="names of suites, comma separated; their order is kept")
    parser.add_argument("--workers", type=int, default=4, help="of each suite")
    parser.add_argument("--together", type=int, default=1, help="suites at the same time")
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, a suite and side")
    parser.add_argument("--keep", type=int, default=2, help="cases of each test function")
    parser.add_argument("--cheap", action="store_true", help="files whose kernels compile fast, more cases of each")
    parser.add_argument("--peer", default=sys.executable, help="the Python that has PyTorch, where it is another")
    parser.add_argument("--hidden", default="", help="packages that are absent for ours, as compat run takes them")
    parser.add_argument("--show", type=int, default=30, help="of those that only fail with ours")
    options = parser.parse_args()
    by_name = {suite.name: suite for suite in ALL}
    chosen = [by_name[name] for name in options.only.split(",")] if options.only else ALL
    with ThreadPoolExecutor(options.together) as pool:
        for done in as_completed([pool.submit(compared, suite, options) for suite in chosen]):
            print(done.result(), flush=True)


if __name__ == "__main__":
    main()
