"""Writes the CUDA kernels' files into a C++ source, where the core finds them: ``embed_kernels.py SOURCES OUTPUT HEADERS``.

SOURCES is native/src. Embedded are its ``cuda/kernels/*.cuh`` and what they include; the core puts the includes in their places
(``native/src/cuda/kernel_files.h``). In the folder HEADERS each file gets a header with its kernels' parameters, by which the
compiler checks the arguments of launches (``native/src/cuda/kernel_entry.h``).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kernel_signatures import Kernel, header, kernels_of

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def files(sources: Path) -> dict[str, str]:
    """The texts of the kernels' files and of what they include, by their paths below ``sources``."""
    waiting = sorted(str(f.relative_to(sources)) for f in (sources / "cuda" / "kernels").glob("*.cuh"))
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (sources / name).read_text(encoding="utf-8")
            waiting += INCLUDE.findall(found[name])
    return dict(sorted(found.items()))


def included(found: dict[str, str], name: str, seen: dict[str, None] | None = None) -> str:
    """The texts of the files that one of the files includes, and those include."""
    seen = {} if seen is None else seen
    for other in INCLUDE.findall(found[name]):
        if other not in seen:
            seen[other] = None
            included(found, other, seen)
    return "".join(found[other] for other in seen if other != name)


def signatures(found: dict[str, str]) -> dict[str, list[Kernel]]:
    """The kernels of each ``.cuh`` among the files."""
    return {name: kernels_of(text, included(found, name)) for name, text in found.items() if name.endswith(".cuh")}


def write_headers(found: dict[str, str], folder: Path) -> None:
    """The headers; one that says what it said is left alone, so that nothing is compiled again for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kernels in signatures(found).items():
        path, text = folder / Path(name).with_suffix(".h").name, header(name, kernels)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main(sources: Path, output: Path, headers: Path) -> None:
    found = files(sources)
    write_headers(found, headers)
    entries = []
    for name, text in found.items():
        assert ')cuda"' not in text, f"{name} holds the end of a raw string"
        # A compiler must take string literals of 65,536 characters; more is asked of no one.
        parts = [text[i : i + 60000] for i in range(0, len(text), 60000)]
        literal = "\n".join(f'R"cuda({part})cuda"' for part in parts)
        entries.append(f'    {{"{name}", {literal}}},')
    body = "\n".join(entries)
    output.write_text(
        '#include "cuda/kernel_files.h"\n\nnamespace shim::cuda {\n\n'
        f"const KernelFile kernel_files[] = {{\n{body}\n}};\nconst size_t kernel_file_count = {len(entries)};\n\n}}  // namespace shim::cuda\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
