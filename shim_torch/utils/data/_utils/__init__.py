"""The parts of the loader."""

from shim_torch.utils.data._utils import collate, fetch, pin_memory, worker

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between looks at whether a worker is alive
python_exit_status = False

__all__ = ["collate", "fetch", "pin_memory", "worker"]
