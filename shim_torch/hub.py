"""``torch.hub``: models and weights by address. Files are kept in ``get_dir()``, repositories in a folder of it each.

``load("owner/name[:ref]", "entry")`` runs the function ``entry`` of the repository's ``hubconf.py``: its code runs here, so
repositories are trusted first. ``source="local"`` takes a folder. Under ``enable_torch_proxy`` with scopes, "hubconf" and the
repository's own packages must be in scope for their ``import torch`` to be served.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen  # libraries import these from here
from warnings import warn

from shim_torch._impl.hub.download import ENV_GITHUB_TOKEN, READ_DATA_CHUNK, download_url_to_file
from shim_torch._impl.hub.download import HASH_REGEX as HASH_REGEX  # timm asks here
from shim_torch._impl.hub.download import digest_in as _digest_in
from shim_torch._impl.hub.download import legacy_archive as _legacy_archive

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

DEFAULT_CACHE_DIR = os.path.join("~", ".cache")
ENV_TORCH_HOME, ENV_XDG_CACHE_HOME = "TORCH_HOME", "XDG_CACHE_HOME"
MODULE_HUBCONF, VAR_DEPENDENCY = "hubconf.py", "dependencies"
_hub_dir: str | None = None


def _get_torch_home() -> str:
    """$TORCH_HOME, or torch in the user's cache."""
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """What ``set_dir`` was given, or hub in $TORCH_HOME, which is torch in $XDG_CACHE_HOME (~/.cache) by default."""
    if os.getenv("TORCH_HUB"):
        warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: Any) -> None:
    """Sets the folder of what is downloaded."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _folder_of(github: str, force_reload: bool, trust_repo: Any, verbose: bool, skip_validation: bool) -> str:
    from shim_torch._impl.hub import repository

    return repository.folder_of(github, force_reload, trust_repo, verbose, skip_validation)


class _Entries:
    """The functions of a folder's ``hubconf.py``; within ``with`` the folder is where Python looks for modules first."""

    def __init__(self, folder: Any) -> None:
        self.folder = os.fspath(folder)

    def __enter__(self) -> Any:
        sys.path.insert(0, self.folder)
        try:
            path = os.path.join(self.folder, MODULE_HUBCONF)
            spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
            if spec is None or spec.loader is None:
                raise ImportError(f"torch.hub cannot load {path}")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except BaseException:
            self.__exit__()
            raise
        return module

    def __exit__(self, *_: object) -> None:
        sys.path.remove(self.folder)


def _entry(module: Any, model: Any) -> Any:
    """A function of a hubconf whose dependencies are there."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    absent = [name for name in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(name) is None]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """The names of a repository's entries ("owner/name[:ref]"): its hubconf's callables without a leading underscore."""
    with _Entries(_folder_of(github, force_reload, trust_repo, verbose, skip_validation)) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check"
) -> str | None:
    """The docstring of an entry."""
    with _Entries(_folder_of(github, force_reload, trust_repo, True, skip_validation)) as module:
        return _entry(module, model).__doc__


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the entry ``model`` of a repository (``source="github"``) or of a folder ("local") gives for the arguments."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _folder_of(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    return _load_local(repo_or_dir, model, *args, **kwargs)


def _load_local(hubconf_dir: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    with _Entries(hubconf_dir) as module:
        return _entry(module, model)(*args, **kwargs)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """``torch.load`` of a file by its address, kept in ``model_dir`` (default: checkpoints in ``get_dir()``).

    ``check_hash``: the name's last part, after a dash, begins the SHA-256 of the contents, else RuntimeError.
    """
    from shim_torch.serialization import load as load_file

    folder = _folder_of_weights(model_dir)
    path = os.path.join(folder, os.path.basename(urlparse(url).path) if file_name is None else file_name)
    _keep(url, path, check_hash, progress)
    return load_file(_legacy_archive(path, folder) or path, map_location=map_location, weights_only=weights_only)


def _folder_of_weights(asked: str | None) -> str:
    """The folder asked for, or checkpoints in ``get_dir()``; it is made."""
    if os.getenv("TORCH_MODEL_ZOO"):
        warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=3)
    folder = os.path.join(get_dir(), "checkpoints") if asked is None else asked
    os.makedirs(folder, exist_ok=True)
    return folder


def _keep(url: str, path: str, check_hash: bool, progress: bool) -> None:
    """Downloads a file that is not there yet."""
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}')
        download_url_to_file(url, path, _digest_in(os.path.basename(path)) if check_hash else None, progress)


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        from shim_torch._impl.hub.download import progress_bar

        return progress_bar()
    from shim_torch._impl.surface.missing import missing

    return missing("torch.hub", name)


_ = (ENV_GITHUB_TOKEN, READ_DATA_CHUNK, HTTPError, URLError, Request, urlopen)  # torch.hub's names too
del _
