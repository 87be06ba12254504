"""``torch.ao.quantization.observer``: what watches the range of values, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    ObserverBase UniformQuantizationObserverBase MinMaxObserver MovingAverageMinMaxObserver
    PerChannelMinMaxObserver MovingAveragePerChannelMinMaxObserver HistogramObserver FixedQParamsObserver
    PlaceholderObserver RecordingObserver NoopObserver ReuseInputObserver AffineQuantizedObserverBase
    default_observer default_placeholder_observer default_debug_observer default_weight_observer
    default_histogram_observer default_per_channel_weight_observer default_dynamic_quant_observer
    default_float_qparams_observer get_observer_state_dict load_observer_state_dict
    """,
)
