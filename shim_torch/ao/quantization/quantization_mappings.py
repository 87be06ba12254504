"""``torch.ao.quantization.quantization_mappings``: which module becomes which, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    get_default_static_quant_module_mappings get_default_static_quant_reference_module_mappings
    get_embedding_static_quant_module_mappings get_default_qat_module_mappings
    get_embedding_qat_module_mappings get_default_dynamic_quant_module_mappings
    get_default_qconfig_propagation_list get_default_compare_output_module_list
    get_default_float_to_quantized_operator_mappings get_static_quant_module_class
    get_dynamic_quant_module_class get_quantized_operator no_observer_set
    """,
)
