"""``torch.distributed.launcher``: a function or a script as torchrun's worker, from Python."""

from shim_torch.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
