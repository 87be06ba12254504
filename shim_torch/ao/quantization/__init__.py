"""``torch.ao.quantization``: the marks that quantizable models carry. Before quantization they change nothing."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_QUANTIZED as _NO_QUANTIZED
from shim_torch._impl.surface.not_built import declare as _declare
from shim_torch.nn import Module

_declare(
    globals(),
    _NO_QUANTIZED,
    """
    BackendConfig FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FixedQParamsObserver
    FusedMovingAvgObsFakeQuantize HistogramObserver MinMaxObserver MovingAverageMinMaxObserver
    MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig
    QConfigDynamic QConfigMapping QuantType QuantWrapper RecordingObserver UniformQuantizationObserverBase add_quant_dequant
    convert convert_dynamic_jit convert_jit default_activation_only_qconfig default_affine_fixed_qparams_observer
    default_debug_observer default_debug_qconfig default_dynamic_fake_quant default_dynamic_qat_qconfig default_dynamic_qconfig
    default_dynamic_quant_observer default_embedding_fake_quant default_embedding_qat_qconfig default_eval_fn
    default_fake_quant default_fixed_qparams_range_0to1_fake_quant default_float_qparams_observer default_fused_act_fake_quant
    default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant default_histogram_observer default_observer
    default_per_channel_qconfig default_per_channel_weight_fake_quant default_per_channel_weight_observer
    default_placeholder_observer default_qat_qconfig default_qconfig default_reuse_input_qconfig
    default_symmetric_qnnpack_qat_qconfig default_symmetric_qnnpack_qconfig default_weight_fake_quant
    default_weight_observer default_weight_only_qconfig disable_fake_quant disable_observer enable_fake_quant enable_observer
    float16_dynamic_qconfig float16_static_qconfig float_qparams_weight_only_qconfig
    float_qparams_weight_only_qconfig_4bit fuse_conv_bn fuse_conv_bn_relu fuse_linear_bn fuse_modules fuse_modules_qat
    get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig get_default_qconfig_mapping
    get_observer_state_dict load_observer_state_dict per_channel_dynamic_qconfig per_channel_weight_observer_range_neg_127_to_127
    prepare prepare_dynamic_jit prepare_jit prepare_qat propagate_qconfig_ qconfig_equals quantize quantize_dynamic
    quantize_dynamic_jit quantize_jit quantize_qat script_qconfig script_qconfig_dict swap_module
    weight_observer_range_neg_127_to_127
    """,
)


class QuantStub(Module):
    """Where a quantized model would quantize its input; passes it on."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """``x`` itself."""
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model would go back to floating point; passes its input on."""
