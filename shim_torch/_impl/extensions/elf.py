"""What a shared object says about itself: its name, the libraries it needs, the symbols it gives and wants."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from typing import Any

_DYNAMIC, _LOAD = 2, 1
_NEEDED, _HASH, _STRTAB, _SYMTAB, _SONAME, _RPATH, _RUNPATH = 1, 4, 5, 6, 14, 15, 29
_GNU_HASH, _VERNEED, _VERNEEDNUM = 0x6FFFFEF5, 0x6FFFFFFE, 0x6FFFFFFF
MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclass
class SharedObject:
    """One ELF file of 64 bits.

    undefined   symbols it wants from others (weak ones are in ``weak``)
    versions    {"GLIBC": "2.27", ...}: the newest version it needs of each name
    """

    machine: str = ""
    soname: str = ""
    needed: list[str] = field(default_factory=list)
    runpath: list[str] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)
    weak: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=dict)


class _Image:
    """The file as it lies in memory: addresses to bytes."""

    def __init__(self, data: Any) -> None:
        self.data = data
        if len(data) < 64 or data[:4] != b"\x7fELF":
            raise ValueError("not an ELF file")
        if data[4] != 2 or data[5] != 1:
            raise ValueError("not a 64-bit little-endian ELF file")
        self.machine = self.unpack("<H", 18)[0]
        start, size, count = self.unpack("<Q", 32)[0], *self.unpack("<HH", 54)
        self.segments = [self.unpack("<IIQQQQQQ", start + i * size) for i in range(count)]
        end = max((s[2] + s[5] for s in self.segments if s[0] == _LOAD), default=0)
        if end > len(data):  # the system's loader would crash on it
            raise ValueError(f"the file is truncated: it has {len(data)} bytes of {end} or more")

    def unpack(self, form: str, at: int) -> tuple[Any, ...]:
        try:
            return struct.unpack_from(form, self.data, at)
        except struct.error:
            raise ValueError("the file is truncated") from None

    def offset(self, address: int) -> int:
        """Where in the file the byte at an address is."""
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == _LOAD and start <= address < start + size:
                return int(offset + address - start)
        raise ValueError("the file is damaged: an address outside its segments")

    def dynamic(self) -> list[tuple[int, int]]:
        """Tag and value pairs of the dynamic section; none in a static file."""
        pairs = []
        for kind, _, offset, _, _, size, _, _ in self.segments:
            if kind == _DYNAMIC:
                for at in range(offset, offset + size, 16):
                    tag, value = self.unpack("<qQ", at)
                    if tag == 0:
                        break
                    pairs.append((tag, value))
        return pairs


def _symbol_count(image: _Image, table: dict[int, int]) -> int:
    if _HASH in table:
        return int(image.unpack("<II", image.offset(table[_HASH]))[1])
    if _GNU_HASH not in table:
        return 0
    at = image.offset(table[_GNU_HASH])
    buckets, first, bloom, _ = image.unpack("<IIII", at)
    chains = at + 16 + 8 * bloom + 4 * buckets
    last = max(image.unpack(f"<{buckets}I", at + 16 + 8 * bloom), default=0)
    if last < first:  # nothing is exported, and the table says nothing of the others: the names follow the symbols
        return int(table[_STRTAB] - table[_SYMTAB]) // 24 if table[_STRTAB] > table[_SYMTAB] else 0
    while not image.unpack("<I", chains + 4 * (last - first))[0] & 1:
        last += 1
    return int(last + 1)


def _newest(old: str, new: str) -> str:
    def key(text: str) -> list[int]:
        return [int(part) for part in text.split(".") if part.isdigit()]

    return new if not old or key(new) > key(old) else old


def parse(data: Any, symbols: bool = True) -> SharedObject:
    """Reads an ELF image (bytes or a memory map), with or without its symbols.

    Errors: ValueError when it is none, truncated or damaged.
    """
    image = _Image(data)
    pairs = image.dynamic()
    table = dict(pairs)
    result = SharedObject(machine=MACHINES.get(image.machine, str(image.machine)))
    if _STRTAB not in table:
        return result
    strings = image.offset(table[_STRTAB])

    def text(at: int) -> str:
        end = data.find(b"\0", strings + at)
        if end < 0:
            raise ValueError("the file is truncated")
        return bytes(data[strings + at : end]).decode("utf-8", "replace")

    for tag, value in pairs:
        if tag == _NEEDED:
            result.needed.append(text(value))
        elif tag == _SONAME:
            result.soname = text(value)
        elif tag in (_RPATH, _RUNPATH):
            result.runpath += text(value).split(":")
    if not symbols:
        return result
    if _SYMTAB in table:
        first = image.offset(table[_SYMTAB])
        for i in range(1, _symbol_count(image, table)):
            name, info, _, section = image.unpack("<IBBH", first + 24 * i)
            if name == 0:
                continue
            weak = info >> 4 == 2
            (result.defined if section else result.weak if weak else result.undefined).add(text(name))
    if _VERNEED in table:
        _read_versions(image, image.offset(table[_VERNEED]), table.get(_VERNEEDNUM, 0), text, result)
    return result


def _read_versions(image: _Image, at: int, count: int, text: Any, result: SharedObject) -> None:
    for _ in range(count):
        _, entries, _, first, step = image.unpack("<HHIII", at)
        entry = at + first
        for _ in range(entries):
            _, _, _, name, following = image.unpack("<IHHII", entry)
            word, _, version = text(name).rpartition("_")
            if word and version[:1].isdigit():
                result.versions[word] = _newest(result.versions.get(word, ""), version)
            entry += following
        at += step


def read(path: str, symbols: bool = True) -> SharedObject:
    """:func:`parse` of a file. Errors: OSError, ValueError."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        if size < 64:
            raise ValueError("not an ELF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return parse(data, symbols)
