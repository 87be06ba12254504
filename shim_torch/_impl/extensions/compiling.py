"""Runs the compilers of an extension: one process a source, several at a time, by ninja where it is installed.

A step that fails ends the rest, and its compiler's text is the error.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from shim_torch._impl.extensions.sources import ADVICE


class Step(NamedTuple):
    """The command that makes ``target``, after the targets in ``after``; the compiler writes what it read to ``target + ".d"``."""

    target: str
    command: list[str]
    after: Sequence[str] = ()


def jobs() -> int | None:
    """$MAX_JOBS, how many compilers run at a time; None without one."""
    given = os.environ.get("MAX_JOBS", "")
    return int(given) if given.isdigit() else None


def compiler_step(command: list[str], source: str, target: str) -> Step:
    """``command`` for one source; the files that it reads are noted."""
    return Step(target, [*command, "-MMD", "-MF", target + ".d", "-c", source, "-o", target])


def run(what: str, steps: Sequence[Step], folder: str, verbose: bool, ninja: str | None) -> None:
    """Does the steps. With ninja (its path) what is newer than all that it was made of is not made again.

    Errors: RuntimeError with the text of the compiler that failed.
    """
    if ninja is not None and len(steps) > 1:
        _by_ninja(what, steps, folder, verbose, ninja)
        return
    with ThreadPoolExecutor(jobs() or os.cpu_count() or 1) as pool:
        first = [step for step in steps if not step.after]
        _wait(pool, what, first, verbose)
        for step in steps:
            if step.after:
                _wait(pool, what, [step], verbose)


def _wait(pool: ThreadPoolExecutor, what: str, steps: Iterable[Step], verbose: bool) -> None:
    def one(step: Step) -> None:
        if verbose:
            print(shlex.join(step.command), file=sys.stderr)
        done = subprocess.run(step.command, capture_output=True, text=True)
        if done.returncode:
            raise _failed(what, done.stdout + done.stderr)

    failed = [future.exception() for future in [pool.submit(one, step) for step in steps]]
    for error in failed:
        if error is not None:
            raise error


def _failed(what: str, text: str) -> RuntimeError:
    absent = re.search(r"fatal error: ((?:torch|ATen|c10|caffe2)/\S+): No such file", text)
    advice = f"\n<{absent[1]}> is {ADVICE}" if absent else ""
    return RuntimeError(f"Error building extension '{what}': {text}{advice}")


def _escaped(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def _by_ninja(what: str, steps: Sequence[Step], folder: str, verbose: bool, ninja: str) -> None:
    lines = ["ninja_required_version = 1.3"]
    for number, step in enumerate(steps):
        lines += [f"rule step{number}", f"  command = {shlex.join(step.command).replace('$', '$$')}"]
        if not step.after:
            lines.append(f"  depfile = {_escaped(step.target)}.d")
        after = "".join(f" {_escaped(a)}" for a in step.after)
        lines.append(f"build {_escaped(step.target)}: step{number}{after}")
    path = os.path.join(folder, "build.ninja")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    limit = jobs()
    command = [ninja, *(["-v"] if verbose else []), *(["-j", str(limit)] if limit else []), "-f", path, "-C", folder]
    done = subprocess.run(command, stdout=None if verbose else subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise _failed(what, done.stdout or "see above")


def files_read(steps: Iterable[Step]) -> list[str]:
    """The files that the compilers read for these steps, but those of the system."""
    found: set[str] = set()
    for step in steps:
        try:
            with open(step.target + ".d", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        parts = text.partition(":")[2].replace("\\ ", "\0").replace("\\\n", " ").split()
        found.update(part.replace("\0", " ") for part in parts)
    return sorted(map(os.path.abspath, found))


def digest_of(paths: Iterable[str], content_of: Callable[[str], bytes]) -> str:
    """One number for the contents of files. Errors: OSError where one is gone."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(content_of(path)).digest())
    return digest.hexdigest()
