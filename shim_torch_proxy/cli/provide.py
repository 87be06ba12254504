"""``python -m compat provide``: a metadata-only distribution ``torch``, so that pip installs no PyTorch."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from shim_torch_proxy.cli import program
from shim_torch_proxy.metadata import METADATA

INSTALLER = "shim-torch"
VERSION = "2.13.0+shim"
HOOK = "shim_torch_build.pth"  # of the wheel that isolated builds install (isolated.py)
GENERATOR = f"Generator: {INSTALLER}\n"


def installed(folder: Path) -> list[Path]:
    """The metadata folders of any distribution torch in ``folder``."""
    return sorted(p for p in folder.glob("torch-*.dist-info") if p.is_dir())


def is_ours(info: Path) -> bool:
    """Whether we wrote ``info``, or pip from a wheel of ours."""
    file = info / "WHEEL"
    return file.is_file() and GENERATOR in file.read_text(encoding="utf-8")


def write(folder: Path, version: str) -> Path:
    """Writes the distribution. Errors: FileExistsError when another torch is installed."""
    real = [info for info in installed(folder) if not is_ours(info)]
    if real or (folder / "torch").exists():
        where = real[0] if real else folder / "torch"
        raise FileExistsError(f"PyTorch is installed ({where}); it is left alone. To replace it: pip uninstall torch")
    try:
        other = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        other = None
    if other is not None and GENERATOR not in (other.read_text("WHEEL") or ""):
        raise FileExistsError("a distribution torch is on sys.path already; it is left alone")
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):  # something keeps it from being imported
        spec = None
    if spec is not None:
        raise FileExistsError(f"a module torch is importable here ({spec.origin or spec.name}); it is left alone")
    info = folder / f"torch-{version}.dist-info"
    made = Path(tempfile.mkdtemp(prefix=".shim-torch-", dir=folder))
    try:
        _fill(made, info.name, version)
        made.chmod(0o755)
        remove(folder)
        made.rename(info)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return info


def texts(version: str) -> dict[str, str]:
    """The files of the distribution's metadata."""
    wheel = f"Wheel-Version: 1.0\n{GENERATOR}Root-Is-Purelib: true\nTag: py3-none-any\n"
    metadata = METADATA.format(version=version)
    return {"METADATA": metadata, "INSTALLER": f"{INSTALLER}\n", "top_level.txt": "\n", "WHEEL": wheel}


def recorded(name: str, text: str) -> str:
    """A file's line in RECORD."""
    data = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _fill(folder: Path, name: str, version: str) -> None:
    record = ""
    for file, text in texts(version).items():
        (folder / file).write_bytes(text.encode())
        record += recorded(f"{name}/{file}", text)
    (folder / "RECORD").write_text(f"{record}{name}/RECORD,,\n", encoding="utf-8")


def remove(folder: Path) -> list[Path]:
    """Removes what ``write`` wrote; another torch is left alone."""
    gone = [info for info in installed(folder) if is_ours(info)]
    for info in gone:
        shutil.rmtree(info)
        (folder / HOOK).unlink(missing_ok=True)
    return gone


def state(folder: Path) -> str:
    """What pip takes ``torch`` for in ``folder``, a sentence."""
    for info in installed(folder):
        name = info.name.removesuffix(".dist-info").replace("-", " ")
        return f"{name} is what `provide` wrote" if is_ours(info) else f"{name} is installed, and no work of `provide`"
    return "not done: pip installs PyTorch with packages that require it, unless it is given --no-deps"


def unsatisfied(folder: Path) -> dict[str, str]:
    """Distributions that ask for another torch than ``write`` wrote, so that ``pip check`` complains: name -> what they ask for."""
    claimed = [info.name[len("torch-") : -len(".dist-info")] for info in installed(folder) if is_ours(info)]
    if not claimed:
        return {}
    from packaging.requirements import InvalidRequirement, Requirement

    found = {}
    for distribution in importlib.metadata.distributions():
        for text in distribution.requires or ():
            try:
                wanted = Requirement(text)
            except InvalidRequirement:
                continue
            applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            if (
                wanted.name.lower() == "torch"
                and applies
                and not wanted.specifier.contains(claimed[0], prereleases=True)
            ):
                found[distribution.metadata["Name"]] = str(wanted.specifier)
    return found


def about_unsatisfied(found: dict[str, str]) -> list[str]:
    """A line for each, with the command that helps."""
    lines = []
    for name, specifier in found.items():
        exact = specifier.removeprefix("==")
        known = exact != specifier and exact.replace(".", "").isdigit()
        remedy = (
            f"{program()} provide --version {exact}" if known else f"{program()} provide --version with one that suits"
        )
        lines.append(f"{remedy} (pip check: {name} asks for torch{specifier})")
    return lines


def left_behind(folder: Path) -> list[str]:
    """What ``pip uninstall shim-torch`` does not remove from ``folder``, and how to."""
    undo = f"{program()} provide --remove; afterwards, pip uninstall torch"
    return [f"{info} ({undo})" for info in installed(folder) if is_ours(info)]


def main(undo: bool, version: str | None) -> int:
    """Writes or removes it in this environment; 1 when a real one is there."""
    folder = Path(sysconfig.get_path("purelib"))
    if undo:
        try:
            gone = remove(folder)
        except OSError as error:
            return _failed(error)
        print(f"removed {gone[0]}" if gone else f"nothing to remove in {folder}")
        return 0
    from packaging.version import InvalidVersion, Version

    try:
        wanted = str(Version(version or VERSION))
        print(f"wrote {write(folder, wanted)}\nundo with: {program()} provide --remove")
        for line in about_unsatisfied(unsatisfied(folder)):
            print(line)
    except InvalidVersion:
        print(f"{program()} provide: {version!r} is not a PEP 440 version, such as 2.13.0", file=sys.stderr)
        return 2
    except OSError as error:
        return _failed(error)
    return 0


def _failed(error: OSError) -> int:
    advice = "; use a virtual environment, or run this as its owner" if isinstance(error, PermissionError) else ""
    print(f"{program()} provide: {error}{advice}", file=sys.stderr)
    return 1
