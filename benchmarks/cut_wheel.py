"""Shared objects of a CUDA wheel with the machine code of other GPUs zeroed, so that they compress well.

    python benchmarks/cut_wheel.py --to FOLDER --arch 90 [--ptx REGEX] LIBRARY...

Sections, symbols and host code stay byte for byte as they are; of the device code in ``.nv_fatbin`` the entries for
``sm_ARCH`` (and sm_ARCHa) stay, and of the PTX, which the driver compiles for newer GPUs, what has a kernel whose
mangled name contains a match of REGEX (read with the program ``zstd``). The rest becomes zero bytes.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CONTAINER = 0xBA55ED50  # the magic number before each group of entries: one group a translation unit
PTX, ELF = 1, 2
ZSTD = 0x8000


class Entry(NamedTuple):
    """Device code for one GPU: where its bytes lie, and what they are."""

    start: int
    size: int
    stored: int  # bytes of compressed code, without the padding; 0 when not compressed
    kind: int
    arch: int
    flags: int


def section(data: bytes, wanted: str) -> tuple[int, int] | None:
    """(offset, size) of a section of a 64-bit ELF file."""
    table, size, count, names = (
        *struct.unpack_from("<Q", data, 0x28),
        *struct.unpack_from("<HHH", data, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        if data[strings + name : data.index(b"\0", strings + name)].decode() == wanted:
            return offset, length
    return None


def entries(data: bytes) -> Iterator[Entry]:
    """All device code of a shared object."""
    found = section(data, ".nv_fatbin")
    if found is None:
        return
    at, end = found[0], found[0] + found[1]
    while at + 16 <= end:
        magic, _, header, length = struct.unpack_from("<IHHQ", data, at)
        if magic != CONTAINER:
            at += 8
            continue
        entry, last = at + header, at + header + length
        while entry < last:
            kind, _, head, size = struct.unpack_from("<HHIQ", data, entry)
            (stored,), (arch,), (flags,) = (
                struct.unpack_from(form, data, entry + where) for form, where in (("<I", 16), ("<I", 28), ("<Q", 40))
            )
            yield Entry(entry + head, size, stored, kind, arch, flags)
            entry += head + size
        at = last


def ptx_names(data: bytes, entry: Entry) -> str:
    """The mangled names of the kernels in a PTX entry, a line each."""
    code = data[entry.start : entry.start + (entry.stored or entry.size)]
    if entry.flags & ZSTD:
        code = subprocess.run(["zstd", "-dcq"], input=code, capture_output=True, check=True).stdout
    return "\n".join(re.findall(r"\.entry (\S+?)\(", code.decode(errors="replace")))


def cut(data: bytes, arch: int, ptx: str | None) -> tuple[bytes, int]:
    """The library without the other device code, and how many bytes of device code stayed."""
    result, kept = bytearray(data), 0
    for entry in entries(data):
        if (entry.kind == ELF and entry.arch == arch) or (
            entry.kind == PTX and ptx and entry.arch <= arch and re.search(ptx, ptx_names(data, entry))
        ):
            kept += entry.size
        else:
            result[entry.start : entry.start + entry.size] = bytes(entry.size)
    return bytes(result), kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--ptx", help="keep PTX whose kernels' names match")
    parser.add_argument("libraries", nargs="+", type=Path)
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    for path in options.libraries:
        data, kept = cut(path.read_bytes(), options.arch, options.ptx)
        (options.to / path.name).write_bytes(data)
        print(f"{path.name}: {len(data)} bytes, {kept} of them device code", file=sys.stderr)


if __name__ == "__main__":
    main()
