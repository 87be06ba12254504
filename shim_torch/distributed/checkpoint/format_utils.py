"""``torch.distributed.checkpoint.format_utils``: checkpoints from and to single files of ``torch.save``."""

from __future__ import annotations

import os

from shim_torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from shim_torch.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Writes all that a checkpoint has to one file. The checkpoint has to be trusted."""
    import shim_torch as torch

    torch.save(_load_state_dict_from_keys(checkpoint_id=dcp_checkpoint_dir), torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Writes what a file has as a checkpoint. The file has to be trusted."""
    import shim_torch as torch

    save(torch.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
