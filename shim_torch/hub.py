"""``torch.hub``: files and models by address. Nothing is downloaded here."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlparse  # libraries import these from here
from urllib.request import Request, urlopen

__all__ = ["Request", "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir", "urlopen"]
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the digest in the name of a file of weights
_dir: str | None = None


def get_dir() -> str:
    """$TORCH_HOME/hub, or torch/hub in the user's cache."""
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"), "hub")


def _get_torch_home() -> str:
    """$TORCH_HOME, or torch in the user's cache."""
    return os.path.dirname(get_dir())


def set_dir(d: Any) -> None:
    """Sets that folder."""
    global _dir
    _dir = os.path.expanduser(d)


def _refuse(name: str) -> None:
    raise NotImplementedError(f"torch.hub.{name} is not supported by shim-torch: download the file and use torch.load")


def list(github: str, *args: Any, **kwargs: Any) -> None:
    _refuse("list")


def help(github: str, model: str, *args: Any, **kwargs: Any) -> None:
    _refuse("help")


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> None:
    _refuse("load")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    _refuse("download_url_to_file")


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The file from the cache; NotImplementedError when it isn't there yet."""
    from shim_torch.serialization import load as load_file

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        _refuse("load_state_dict_from_url")
    return load_file(path, map_location=map_location, weights_only=weights_only)


class _Progress:
    """tqdm's place where tqdm is not installed: counts, and shows nothing."""

    def __init__(self, iterable: Any = None, total: int | None = None, **_: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def update(self, n: int) -> None:
        self.n += n

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def close(self) -> None:
        pass

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        from importlib import import_module

        try:
            return import_module("tqdm").tqdm
        except ImportError:
            return _Progress
    from shim_torch._missing import missing

    return missing("torch.hub", name)
