"""``torch.jit.frontend``: TorchScript's parser, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_SCRIPT, declare

__getattr__ = declare(
    globals(),
    NO_SCRIPT,
    """
    get_jit_class_def get_jit_def get_class_properties get_class_assigns get_default_args
    get_default_args_for_class build_def build_class_def NotSupportedError UnsupportedNodeError
    FrontendError FrontendTypeError SourceContext
    """,
)
