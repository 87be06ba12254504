"""``torch.ao.quantization.fake_quantize``: quantization in training, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    FakeQuantizeBase FakeQuantize FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize default_fake_quant
    default_weight_fake_quant default_dynamic_fake_quant default_fused_act_fake_quant
    default_fused_wt_fake_quant disable_fake_quant disable_observer enable_fake_quant enable_observer
    """,
)
