"""``torch._inductor.config``: settings of a code generator that is not here; kept so that they can be set and read back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

max_autotune = max_autotune_gemm = max_autotune_pointwise = coordinate_descent_tuning = False
coordinate_descent_check_all_directions = epilogue_fusion_first = False
epilogue_fusion = shape_padding = cpp_wrapper = force_fuse_int_mm_with_mul = False
fx_graph_cache = fx_graph_remote_cache = False
freezing = use_mixed_mm = allow_buffer_reuse = False
compile_threads = 1
max_autotune_gemm_search_space = "DEFAULT"
max_autotune_gemm_backends = "ATEN,TRITON"
debug = False
fallback_random = False
emulate_precision_casts = False
post_grad_custom_pre_pass = post_grad_custom_post_pass = None
pre_grad_custom_pass = joint_custom_pre_pass = joint_custom_post_pass = None
triton = SimpleNamespace(
    cudagraphs=False, unique_kernel_names=True, cudagraph_trees=True, cudagraph_skip_dynamic_graphs=False
)
cpp = SimpleNamespace(simdlen=None, threads=-1)
cuda = SimpleNamespace(arch=None, version=None, compile_opt_level="-O2")


class patch:
    """Settings within a ``with`` block or a decorated function: ``patch(max_autotune=True)`` or ``patch("debug", True)``."""

    def __init__(self, arg: Any = None, value: Any = None, **kwargs: Any) -> None:
        self._changes = {**(arg if isinstance(arg, dict) else {} if arg is None else {arg: value}), **kwargs}

    def __enter__(self) -> None:
        names = globals()
        self._old = {k: names.get(k) for k in self._changes}
        names.update(self._changes)

    def __exit__(self, *_: object) -> None:
        globals().update(self._old)

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with patch(dict(self._changes)):
                return function(*args, **kwargs)

        return wrapped


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._inductor.config", name)
