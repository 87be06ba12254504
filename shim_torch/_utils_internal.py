"""``torch._utils_internal``: switches that PyTorch's own builds replace, at the values of its public builds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500
USE_GLOBAL_DEPS = True
USE_RTLD_GLOBAL_WITH_LIBTORCH = False
REQUIRES_SET_PYTHON_MODULE = False
DISABLE_JUSTKNOBS = True

torch_parent = str(Path(__file__).resolve().parents[1])


def get_file_path(*path_components: str) -> str:
    """A path below the folder that holds the package."""
    return os.path.join(torch_parent, *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The components joined to a path."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """``path`` where it can be written to, else a new temporary folder."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def prepare_multiprocessing_environment(path: str) -> None:
    """Public builds prepare nothing."""


def resolve_library_path(path: str) -> str:
    """The path without symbolic links."""
    return os.path.realpath(path)


def justknobs_check(name: str, default: bool = True) -> bool:
    """Whether a feature is on: public builds have no remote switches, so ``default``."""
    return default


def justknobs_getval_int(name: str) -> int:
    """0, the value of every knob outside of Meta."""
    return 0


def is_fb_unit_test() -> bool:
    """False."""
    return False


def get_mast_job_name_version() -> tuple[str, int] | None:
    """None: there is no such scheduler."""
    return None


def max_clock_rate() -> int:
    """The highest clock of the GPU's multiprocessors, in MHz (NVML)."""
    from triton.testing import nvsmi

    return int(nvsmi(["clocks.max.sm"])[0])


def signpost_event(category: str, name: str, parameters: dict[str, Any]) -> None:
    """A line in the log, as public builds write it."""
    import logging

    logging.getLogger("torch._utils_internal").info("%s %s: %r", category, name, parameters)


def _not_collected(*_: Any, **__: Any) -> None:
    """Public builds collect no telemetry."""


add_mlhub_insight = log_compilation_event = upload_graph = log_export_usage = log_draft_export_usage = _not_collected
log_trace_structured_event = log_cache_bypass = log_torchscript_usage = log_triton_builds = _not_collected
set_pytorch_distributed_envs_from_justknobs = _not_collected


def maybe_upload_prof_stats_to_manifold(profile_path: str) -> str | None:
    """None: nothing is uploaded."""
    return None


def export_training_ir_rollout_check() -> bool:
    """True, as in PyTorch outside of Meta."""
    return True


def full_aoti_runtime_assert() -> bool:
    """True, as in PyTorch outside of Meta."""
    return True
