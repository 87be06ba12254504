"""Wheels of which little runs on a CPU: their libraries load and register, and what runs is right."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def libraries(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed (make test installs it)")
    return sorted(Path(spec.submodule_search_locations[0]).glob("*.so"))


@pytest.fixture(scope="module")
def xformers():
    for path in libraries("xformers"):
        torch.ops.load_library(path)
    return torch.ops.xformers


def test_xformers_packs_two_of_four_masks(xformers):
    rng = np.random.default_rng(0)
    chosen = np.sort(np.argsort(rng.random((32, 16, 4)), -1)[..., :2], -1)  # the two kept of each four
    mask = np.zeros((32, 16, 4), bool)
    np.put_along_axis(mask, chosen, True, -1)
    packed = xformers._sparse24_pack_mask(torch.from_numpy(mask.reshape(32, 64)))
    four_bits = chosen[..., 0] | chosen[..., 1] << 2
    expected = (four_bits.reshape(32, 4, 4) << np.array([0, 4, 8, 12])).sum(-1).astype(np.uint16).view(np.int16)
    np.testing.assert_array_equal(packed.numpy(), expected)


def test_xformers_registers_and_tells_cuda_errors(xformers):
    assert xformers._nvcc_build_version()[0] >= 12
    assert "CUDA" in _core.kernels_of("xformers::sparse24_apply", "")
    with pytest.raises(
        NotImplementedError, match="Could not run 'xformers::sparse24_largest_mask_2d' with arguments from the 'CPU'"
    ):
        xformers.sparse24_largest_mask_2d(torch.ones(32, 64))
    if not torch.cuda.is_available():  # its fake kernel asks the CUDA runtime for the device
        a = torch.empty(32, 64, dtype=torch.float16, device="meta")
        with pytest.raises(RuntimeError, match=r"^CUDA error: .* \(error \d+ in sparse24_sparsify_both_ways"):
            xformers.sparse24_sparsify_both_ways(a, "", "cutlass")


def test_torchao_implements_what_python_defines():
    for path in libraries("torchao"):
        torch.ops.load_library(path)
    library = torch.library.Library("torchao", "FRAGMENT")
    library.define(
        "mxfp8_quantize(Tensor input, bool rowwise, bool colwise, int scale_dim_x, int scale_dim_y, str fp8_format, "
        "str scaling_mode) -> (Tensor, Tensor, Tensor, Tensor)"
    )
    assert list(_core.kernels_of("torchao::mxfp8_quantize", "")) == ["CUDA"]
    with pytest.raises(NotImplementedError, match="Could not run 'torchao::mxfp8_quantize'"):
        torch.ops.torchao.mxfp8_quantize(torch.ones(32, 32), True, False, 32, 1, "e4m3", "floor")
    library._destroy()
