"""``torch._inductor.ir``: the code generator's program, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    IRNode Buffer BaseView StorageBox TensorBox Layout FixedLayout FlexibleLayout MultiOutput MultiOutputLayout
    NoneLayout Pointwise Reduction Loops ComputedBuffer InputBuffer ConstantBuffer TemplateBuffer CppTemplateBuffer
    TritonTemplateBuffer ExternKernel ExternKernelAlloc ExternKernelOut FallbackKernel ChoiceCaller Subgraph
    ReinterpretView View ExpandView PermuteView get_fill_order get_stride_order is_triton as_storage_and_layout
    ir_node_to_tensor
    """,
)
