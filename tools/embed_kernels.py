"""Writes the CUDA kernels' files into a C++ source, where the core finds them: ``embed_kernels.py SOURCES OUTPUT``.

SOURCES is native/src. Embedded are its ``cuda/kernels/*.cuh`` and what they include; the core puts the includes in their places
(``native/src/cuda/kernel_files.h``).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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


def main(sources: Path, output: Path) -> None:
    entries = []
    for name, text in files(sources).items():
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
    main(Path(sys.argv[1]), Path(sys.argv[2]))
