"""The parts of the loader."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between looks at whether a worker is alive
HAS_NUMPY = True
python_exit_status = False

from shim_torch.utils.data._utils import collate, fetch, pin_memory, signal_handling, worker  # noqa: E402

__all__ = ["collate", "fetch", "pin_memory", "signal_handling", "worker"]
