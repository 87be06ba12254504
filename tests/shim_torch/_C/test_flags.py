"""torch._C's getters and setters of settings are those of torch.backends."""

import pytest

import shim_torch as torch
from shim_torch.backends import cuda, cudnn, mkldnn

_C = torch._C


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("cudnn_benchmark", lambda: cudnn.benchmark),
        ("cudnn_deterministic", lambda: cudnn.deterministic),
        ("cudnn_enabled", lambda: cudnn.enabled),
        ("cudnn_allow_tf32", lambda: cudnn.allow_tf32),
        ("mkldnn_enabled", lambda: mkldnn.enabled),
        ("mkldnn_deterministic", lambda: mkldnn.deterministic),
        ("cublas_allow_tf32", lambda: cuda.matmul.allow_tf32),
        ("cublas_allow_fp16_accumulation", lambda: cuda.matmul.allow_fp16_accumulation),
        ("math_sdp_allow_fp16_bf16_reduction", cuda.fp16_bf16_reduction_math_sdp_allowed),
    ],
)
def test_one_setting(name, read):
    get, put = getattr(_C, f"_get_{name}"), getattr(_C, f"_set_{name}")
    before = get()
    try:
        for value in (not before, before):
            put(value)
            assert get() is value and read() is value
    finally:
        put(before)
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        put(1)


@pytest.mark.parametrize("name", ["flash", "math", "mem_efficient", "cudnn"])
def test_forms_of_attention(name):
    get, put = getattr(_C, f"_get_{name}_sdp_enabled"), getattr(_C, f"_set_sdp_use_{name}")
    try:
        put(False)
        assert get() is False and getattr(cuda, f"{name}_sdp_enabled")() is False
    finally:
        put(True)
    assert get() is True
    with pytest.raises(RuntimeError, match="set_sdp_use_.* expects a bool, but got str"):
        put("no")


def test_reductions_are_pairs():
    for kind in ("fp16", "bf16"):
        get = getattr(_C, f"_get_cublas_allow_{kind}_reduced_precision_reduction")
        put = getattr(_C, f"_set_cublas_allow_{kind}_reduced_precision_reduction")
        before = get()
        put(False)
        assert get()[0] is False
        put(*before)
        assert get() == before


def test_settings_of_torch_itself():
    try:
        _C._set_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled() and _C._get_deterministic_algorithms_warn_only()
        _C._set_float32_matmul_precision("high")
        assert torch.get_float32_matmul_precision() == "high" == _C._get_float32_matmul_precision()
        _C._set_warnAlways(True)
        assert torch.is_warn_always_enabled() and _C._get_warnAlways()
    finally:
        _C._set_deterministic_algorithms(False)
        _C._set_float32_matmul_precision("highest")
        _C._set_warnAlways(False)
    assert not _C._get_deterministic_algorithms()
    with pytest.raises(TypeError, match=r"argument 'mode' \(position 1\) must be bool, not int"):
        _C._set_deterministic_algorithms(1)


def test_names_that_are_not_here():
    assert not hasattr(_C, "_get_no_such_setting") and not hasattr(_C, "_get_no_such_sdp_enabled")


def test_operators_that_this_module_alone_names():
    x, w = torch.arange(18.0).reshape(1, 2, 3, 3), torch.ones(3, 2, 2, 2)
    expected = torch.nn.functional.conv2d(x, w)
    assert torch.equal(_C._nn.thnn_conv2d(x, w, 2), expected)
    assert torch.equal(_C._nn.thnn_conv2d(x, kernel_size=[2, 2], weight=w, bias=torch.ones(3)), expected + 1)
    assert _C._nn.slow_conv_dilated2d(x, w, 2, None, 1, 0, 2).shape == (1, 3, 1, 1)
    assert _C._nn.relu6_(torch.tensor([-1.0, 7.0])).tolist() == [0, 6]


def test_threshold_of_expanded_tensors():
    x = torch.tensor([[0.0], [2.0]]).expand(2, 3)
    assert torch.nn.functional.threshold(x, 1.0, 5.0, inplace=True).tolist() == [[5.0] * 3, [2.0] * 3]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.nn.functional.leaky_relu_(x)


def test_half_sums_on_the_cpu_are_refused():
    put = torch._C._set_cpu_allow_fp16_reduced_precision_reduction
    put(False)
    assert torch._C._get_cpu_allow_fp16_reduced_precision_reduction() is False
    with pytest.raises(RuntimeError, match="Float16 arithmetic is not supported by the CPU!"):
        put(True)
    with pytest.raises(RuntimeError, match="set_allow_fp16_reduction_cpu expects a bool, but got int"):
        put(1)
