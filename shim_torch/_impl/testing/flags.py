"""What this machine and this torch have, under the names that test suites ask for."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys

import shim_torch


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _wanted(name: str) -> bool:
    return os.environ.get(name, "0") == "1"


IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_LINUX = sys.platform.startswith("linux")
IS_X86 = platform.machine() in ("x86_64", "i386")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_PPC = platform.machine() == "ppc64le"
IS_S390X = platform.machine() == "s390x"
IS_JETSON = IS_FBCODE = IS_SANDCASTLE = IS_REMOTE_GPU = IS_AVX512_VNNI_SUPPORTED = False
IS_CI = bool(os.environ.get("CI"))
IS_64BIT = sys.maxsize > 2**32

TEST_NUMPY = True
TEST_SCIPY = _installed("scipy")
TEST_NUMBA = _installed("numba")
TEST_LIBROSA = _installed("librosa")
TEST_TRANSFORMERS = _installed("transformers")
TEST_CUDA = shim_torch.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and shim_torch.cuda.device_count() > 1
TEST_CUDA_GRAPH = TEST_CUDA
TEST_ACCELERATOR = TEST_CUDA
TEST_MPS = TEST_XPU = TEST_HPU = TEST_PRIVATEUSE1 = TEST_CUDNN = TEST_MKL = TEST_MKLDNN = TEST_FAIRSEQ = False
TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_MTIA = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = TEST_WITH_CROSSREF = False
TEST_WITH_SLOW = _wanted("PYTORCH_TEST_WITH_SLOW")
TEST_SKIP_FAST = _wanted("PYTORCH_TEST_SKIP_FAST")
TEST_SKIP_NOARCH = _wanted("PYTORCH_TEST_SKIP_NOARCH")
HAS_CUDA = HAS_GPU = TEST_CUDA
