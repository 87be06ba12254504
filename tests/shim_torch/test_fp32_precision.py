"""``torch.backends.*.fp32_precision``: what parts inherit, what kernels are told, how it meets the older settings."""

import pytest

import shim_torch as torch
from shim_torch._impl.backends import precision
from shim_torch._impl.native import _core

b = torch.backends


@pytest.fixture(autouse=True)
def as_before():
    kept = dict(precision._set), dict(precision._legacy)
    yield
    for here, was in zip((precision._set, precision._legacy), kept, strict=True):
        here.clear()
        here.update(was)
    precision._tell_kernels()


def parts():
    return [x.fp32_precision for x in (b.cudnn.conv, b.cudnn.rnn, b.cuda.matmul, b.mkldnn.conv, b.mkldnn.matmul)]


def test_parts_follow_those_above_them():
    precision._set.clear()
    assert parts() == ["tf32", "tf32", "none", "none", "none"]  # cuDNN's take TF32 where nobody says otherwise
    b.fp32_precision = "ieee"
    assert parts() == ["ieee"] * 5
    b.cudnn.fp32_precision = "tf32"
    b.mkldnn.matmul.fp32_precision = "bf16"
    assert parts() == ["tf32", "tf32", "tf32", "ieee", "bf16"]
    b.fp32_precision = "bf16"
    b.cudnn.fp32_precision = "none"
    assert parts() == ["none", "none", "none", "bf16", "bf16"]  # which CUDA does not take


def test_kernels_are_told():
    b.cudnn.conv.fp32_precision = "ieee"
    b.cuda.matmul.fp32_precision = "tf32"
    assert (_core.cudnn_setting("allow_tf32"), _core.gemm_flag("allow_tf32")) == (False, True)
    with b.flags(fp32_precision="tf32"):
        b.cudnn.conv.fp32_precision = b.cuda.matmul.fp32_precision = "none"
        assert (_core.cudnn_setting("allow_tf32"), _core.gemm_flag("allow_tf32")) == (True, True)


def test_the_older_settings_say_when_they_no_longer_hold():
    torch.set_float32_matmul_precision("medium")
    assert (b.cuda.matmul.fp32_precision, b.mkldnn.matmul.fp32_precision) == ("tf32", "bf16")
    b.cudnn.allow_tf32 = False
    assert b.cudnn.conv.fp32_precision == "none" and not b.cudnn.allow_tf32
    b.cudnn.rnn.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="cuDNN conv and cuDNN RNN have different TF32 flags"):
        b.cudnn.allow_tf32
    b.mkldnn.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="checking the matmul precision without a specific backend name"):
        torch.get_float32_matmul_precision()


def test_contexts_set_all():
    with b.cudnn.flags(enabled=True, benchmark=True, fp32_precision="ieee"):
        assert b.cudnn.benchmark and b.cudnn.fp32_precision == "ieee" and b.cudnn.conv.fp32_precision == "tf32"
    assert not b.cudnn.benchmark and b.cudnn.fp32_precision == "none"
    with b.mkldnn.flags():
        assert not b.mkldnn.enabled
    assert b.mkldnn.enabled


def test_refusals():
    with pytest.raises(RuntimeError, match="Unknown precision: fast"):
        b.fp32_precision = "fast"
    with pytest.raises(RuntimeError, match="backend 'cuda' does not support precision 'bf16'"):
        b.cudnn.conv.fp32_precision = "bf16"
    with pytest.raises(AttributeError, match="Unknown attribute speed"):
        b.mkldnn.conv.speed = 1
    assert torch._C._set_fp32_precision_setter("mkldnn", "conv", "bf16") == b.mkldnn.conv.fp32_precision == "bf16"


def test_backends_settings():
    b = torch.backends
    assert b.cudnn.enabled is True
    b.cudnn.benchmark = True
    assert b.cudnn.benchmark is True
    b.cudnn.benchmark = False
    b.cudnn.allow_tf32 = False
    assert _core.cudnn_setting("allow_tf32") is False
    b.cudnn.allow_tf32 = True
    with b.cudnn.flags(enabled=False, deterministic=True):
        assert (_core.cudnn_setting("enabled"), _core.cudnn_setting("deterministic")) == (False, True)
        assert (b.cudnn.enabled, b.cudnn.deterministic) == (False, True)
    assert (b.cudnn.enabled, b.cudnn.deterministic) == (True, False)
    assert (_core.cudnn_setting("enabled"), _core.cudnn_setting("deterministic")) == (True, False)
    assert not b.mps.is_available()
    assert b.cuda.is_built()
    assert b.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NO AVX", "DEFAULT")
    assert not hasattr(b, "cupy") and not hasattr(b, "numpy")
    b.cuda.matmul.allow_tf32 = True
    assert b.cuda.matmul.fp32_precision == "tf32"
    b.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match="Unknown attribute nothing"):
        b.cuda.matmul.nothing
