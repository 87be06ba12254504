"""One file from an address, and what is in it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.request import Request

from shim_torch._impl.surface import naming

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the digest in the name of a file of weights
READ_DATA_CHUNK = 128 * 1024
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"


class _Progress:
    """tqdm's place where tqdm is not installed: counts, and shows how far a download is."""

    def __init__(self, iterable: Any = None, total: int | None = None, disable: bool = False, **_: Any) -> None:
        self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

    def update(self, n: int) -> None:
        self.n += n
        if not self.disable:
            sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n:.1f} bytes")
            sys.stderr.flush()

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def close(self) -> None:
        if not self.disable:
            sys.stderr.write("\n")

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress_bar() -> Any:
    """tqdm's class, or ours without it."""
    from importlib import import_module

    try:
        return import_module("tqdm").tqdm
    except ImportError:
        return _Progress


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A new file beside ``path`` that takes its place at the end, and is gone where that is not reached."""
    partial = f"{path}.{uuid.uuid4().hex}.partial"
    try:
        with open(partial, "xb") as file:
            yield file
        shutil.move(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads to a file, which is there only when it is whole.

    RuntimeError where the contents' SHA-256 does not begin with ``hash_prefix``; urllib's errors where there is nothing.
    """
    with _replacing(os.path.expanduser(dst)) as file:
        found = _copy(Request(url, headers={"User-Agent": "torch.hub"}), file, not progress)
        if not found.startswith(hash_prefix or ""):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def _copy(request: Request, file: BinaryIO, quiet: bool) -> str:
    """Writes what is answered to a file; its SHA-256 in hexadecimal digits."""
    from shim_torch import hub

    with hub.urlopen(request) as source:
        size = int(source.info().get("Content-Length") or 0) or None
        digest = hashlib.sha256()
        with progress_bar()(total=size, disable=quiet, unit="B", unit_scale=True, unit_divisor=1024) as bar:
            for piece in iter(lambda: source.read(READ_DATA_CHUNK), b""):
                digest.update(piece)
                bar.update(file.write(piece))
    return digest.hexdigest()


def digest_in(name: str) -> str | None:
    """The digits between a dash and the suffix in the name of a file of weights."""
    found = HASH_REGEX.search(name)
    return found[1] if found else None


def extract(archive: zipfile.ZipFile, folder: str) -> None:
    """All of an archive; ValueError for a name that leads out of the folder."""
    root = os.path.realpath(folder)
    for member in archive.infolist():
        if not os.path.realpath(os.path.join(root, member.filename)).startswith(root + os.sep):
            raise ValueError(f"torch.hub: the archive's '{member.filename}' would be written outside of {folder}")
    archive.extractall(folder)


def legacy_archive(path: str, folder: str) -> str | None:
    """The one file of an archive made before PyTorch 1.6, extracted; None for other files."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) != 1 or members[0].is_dir():
            return None
        from warnings import warn

        warn(
            "Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile format introduced "
            "in 1.6. Please redo torch.save() to save it in the new zipfile format.",
            FutureWarning,
            stacklevel=3,
        )
        extract(archive, folder)
    return os.path.join(folder, members[0].filename)


naming.present(globals(), "torch.hub")
