"""Zip archives and files of the older format, made from records, and changes of their structure."""

from __future__ import annotations

import functools
import io
import pickle
import random
import struct
import zipfile
import zlib

from pickle_mutations import INTS, Mutator, parsed, written

BOMB = 400 << 20  # bytes that a small compressed record becomes
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
# Where the numbers of each header are: (offset, bytes).
FIELDS = {
    LOCAL: ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)),
    CENTRAL: ((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4)),
    END: ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
}


@functools.lru_cache(maxsize=1)
def bomb() -> bytes:
    """The deflated form of very many zeros."""
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(made.compress(bytes(1 << 24)) for _ in range(BOMB >> 24)) + made.flush()


class Record:
    """One record: its name and bytes as they lie in the file, and what the headers say of them."""

    def __init__(self, name: str, data: bytes, method: int = 0, size: int | None = None) -> None:
        self.name, self.data, self.method = name, data, method
        self.size = len(data) if size is None else size
        self.extra = b""

    def headers(self, offset: int) -> tuple[bytes, bytes]:
        name, crc = self.name.encode(), zlib.crc32(self.data) if not self.method else 0
        shared = struct.pack(
            "<HHHHHIIIHH",
            20,
            0x800,
            self.method,
            0,
            33,
            crc,
            len(self.data),
            self.size & 0xFFFFFFFF,
            len(name),
            len(self.extra),
        )
        local = LOCAL + shared + name + self.extra
        central = (
            CENTRAL + struct.pack("<H", 20) + shared + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name + self.extra
        )
        return local, central


def records_of(data: bytes) -> list[Record]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [Record(info.filename, archive.read(info)) for info in archive.infolist()]


def archive_of(records: list[Record]) -> bytes:
    out, directory = b"", b""
    for record in records:
        local, central = record.headers(len(out))
        out += local + record.data
        directory += central
    return (
        out + directory + END + struct.pack("<HHHHIIH", 0, 0, len(records), len(records), len(directory), len(out), 0)
    )


def change_record(r: random.Random, records: list[Record]) -> None:
    """Another name, size, compression or order of one record, or one record more or less."""
    record, other = r.choice(records), r.choice(records)
    prefix = records[0].name.split("/")[0]
    way = r.randrange(13)
    if way == 0:
        record.name = r.choice(
            (
                other.name,
                prefix + "/data/1",
                "/etc/passwd",
                "../../x",
                "",
                prefix + "/",
                "data.pkl",
                "x" * 300,
                prefix + "/constants.pkl",
            )
        )
    elif way == 1:
        records.remove(record)
    elif way == 2:
        records.append(Record(record.name, other.data))
    elif way == 3:
        record.data = record.data[: r.randrange(len(record.data) + 1)]
        record.size = len(record.data)
    elif way == 4:
        record.size = r.choice((0, 1, len(record.data) + 1, len(record.data) * 1000, 2**31, 2**32 - 1, BOMB))
    elif way == 5:
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        record.data, record.method = deflate.compress(record.data) + deflate.flush(), 8
    elif way == 6:
        record.method = r.choice((8, 1, 9, 12, 14, 99, 93))
    elif way == 7 and r.random() < 0.2:
        record.data, record.method, record.size = bomb(), 8, r.choice((BOMB, record.size))
    elif way == 8:
        special = r.choice(
            ("byteorder", "version", ".format_version", ".storage_alignment", "constants.pkl", ".data/serialization_id")
        )
        records.append(
            Record(
                f"{prefix}/{special}",
                r.choice((b"big", b"little", b"", b"\xff\xfe", b"99999999999999999999999", b"x" * 70000)),
            )
        )
    elif way == 9:
        sizes = struct.pack("<QQQ", *(r.choice([n for n in INTS if 0 <= n < 2**64]) for _ in range(3)))
        record.extra = struct.pack("<HH", 1, r.choice((8, 16, 24, 0, 65535))) + sizes
    elif way == 10:
        records.reverse()
    elif way == 11:
        record.extra = b"FB" + struct.pack("<H", r.choice((0, 4, 65535))) + b"Z" * r.choice((0, 4, 60))
    else:
        record.data += bytes(r.choice((1, 8, 100)))
        record.size = len(record.data)


def change_headers(r: random.Random, data: bytes) -> bytes:
    """Another number in one header of the archive."""
    changed, kind = bytearray(data), r.choice((LOCAL, CENTRAL, CENTRAL, END))
    found = [i for i in range(len(data) - 3) if data[i : i + 4] == kind] if len(data) < 20_000 else [data.rfind(kind)]
    if not found or found[0] < 0:
        return data
    offset, size = r.choice(FIELDS[kind])
    at = r.choice(found) + offset
    was = int.from_bytes(data[at : at + size], "little")
    number = r.choice(
        (0, 1, 8, was + 1, was - 1, was * 2, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), r.getrandbits(8 * size))
    )
    changed[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(changed)


def change_bytes(r: random.Random, data: bytes) -> bytes:
    """Something cut off, put in front or behind, or written over."""
    way, at = r.randrange(5), r.randrange(len(data) + 1)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[: max(0, len(data) - r.randrange(1, 100))]
    if way == 2:
        return data + r.choice((b"\0" * 100, END + b"\0" * 18, data))
    if way == 3:
        return r.choice((b"\0", b"x" * 1000, LOCAL)) + data
    return data[:at] + r.randbytes(r.choice((1, 1, 4, 40))) + data[at + r.choice((0, 1, 4)) :]


def mutated_zip(r: random.Random, data: bytes) -> bytes:
    records, way = records_of(data), r.random()
    if way < 0.65:
        record = next(x for x in records if x.name.endswith("data.pkl"))
        record.data = written(Mutator(r).mutate(parsed(io.BytesIO(record.data))))
        record.size = len(record.data)
    if way > 0.6:
        for _ in range(r.choice((1, 1, 2))):
            if records:
                change_record(r, records)
    data = archive_of(records)
    if way > 0.85:
        data = change_headers(r, data)
    return change_bytes(r, data) if r.random() < 0.08 else data


def mutated_legacy(r: random.Random, data: bytes) -> bytes:
    """The five pickles of the older format, of which the fourth is the object, then each storage's count and bytes."""
    file = io.BytesIO(data)
    pickles = [parsed(file) for _ in range(5)]
    tail, way = bytearray(data[file.tell() :]), r.random()
    if way < 0.75:
        Mutator(r).mutate(pickles[3])
    elif way < 0.9:
        Mutator(r).mutate(pickles[r.choice((0, 1, 2, 4, 4))])
    if way > 0.7 and len(tail) >= 8:
        tail[:8] = struct.pack("<Q", r.choice([n for n in INTS if 0 <= n < 2**64]))
    parts = [written(p) for p in pickles]
    if r.random() < 0.05:
        parts[4] = pickle.dumps(r.choice(([], ["0", "0"], ["x"], 3, {"0": 1}, [["0"]])), 2)
    data = b"".join(parts) + bytes(tail)
    return change_bytes(r, data) if r.random() < 0.1 else data
