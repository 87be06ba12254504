"""What is in a loaded tensor came from the file: no other memory is shown, and a small file makes no large allocation."""

import io
import mmap
import pickle
import struct
import subprocess
import sys
import zipfile

import pytest
from files_by_hand import FOUR_BYTES, REFUSED, Call, Id, Name, archive, calls, legacy, storage, tensor_pickle, written

import shim_torch as torch

OUTSIDE = [
    ((4096,), (1,), 0),
    ((2,), (1,), 0),
    ((1,), (1,), 1),
    ((2,), (1 << 61,), 0),
    ((1 << 40,), (1,), 0),
    ((1 << 62, 4), (1, 1), 0),
]


def loads(file, tmp_path, mmapped):
    if not mmapped:
        return torch.load(file)
    path = tmp_path / "file.pt"
    path.write_bytes(file.getvalue())
    return torch.load(path, mmap=True)


@pytest.mark.parametrize("mmapped", [False, True])
@pytest.mark.parametrize("geometry", OUTSIDE)
def test_tensors_lie_within_their_records(geometry, mmapped, tmp_path):
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 4"):
        loads(archive(tensor_pickle(1, *geometry), FOUR_BYTES), tmp_path, mmapped)


@pytest.mark.parametrize("geometry", OUTSIDE)
@pytest.mark.parametrize("trusted", [False, True])
def test_tensors_of_every_form_lie_within_their_storages(geometry, trusted):
    sizes, strides, offset = geometry
    forms = {
        "_rebuild_tensor": (offset, sizes, strides),
        "_rebuild_tensor_v2": (offset, sizes, strides, False, {}),
        "_rebuild_tensor_v3": (offset, sizes, strides, False, {}, Name("torch.float32")),
    }
    for name, args in forms.items():
        pickled = calls(f"torch._utils.{name}", storage(1), *args)
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 4"):
            torch.load(archive(pickled, FOUR_BYTES), weights_only=not trusted)
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 4"):
            getattr(torch._utils, name)(torch.ones(1).storage(), *args[:5], *([torch.float32] if "v3" in name else []))


@pytest.mark.parametrize("mmapped", [False, True])
def test_storages_of_files_are_not_resizable(mmapped, tmp_path):
    t = loads(archive(tensor_pickle(1, (1,), (1,)), FOUR_BYTES), tmp_path, mmapped)
    assert not t.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(4096)
    old = io.BytesIO()
    torch.save(torch.ones(1), old, _use_new_zipfile_serialization=False)
    old.seek(0)
    assert not torch.load(old).untyped_storage().resizable()


@pytest.mark.parametrize("mmapped", [False, True])
@pytest.mark.parametrize("count", [2, 1 << 28, 1 << 50, 1 << 62, -1, "4", None, 1.0])
def test_a_record_has_the_bytes_that_are_asked_for(count, mmapped, tmp_path):
    with pytest.raises((RuntimeError, REFUSED)):
        loads(archive(tensor_pickle(count, (1,), (1,)), FOUR_BYTES), tmp_path, mmapped)


def test_the_format_before_1_6_has_the_bytes_that_are_asked_for():
    def pickled(count, key="0", view=None, sizes=(1,)):
        pid = Id(("storage", Name("torch.FloatStorage"), key, "cpu", count, view))
        return calls("torch._utils._rebuild_tensor_v2", pid, 0, sizes, (1,), False, {})

    body = struct.pack("<q", 1) + b"\0\0\x80?"
    assert torch.load(legacy(pickled(1), ["0"], body)).tolist() == [1.0]
    for file in [
        legacy(pickled(1 << 40), ["0"], struct.pack("<q", 1 << 40)),  # more than the file has
        legacy(pickled(1), [], b""),  # a storage that is never filled
        legacy(pickled(1), ["0", "0"], body + body),
        legacy(pickled(1), ["1"], body),
        legacy(pickled(1), ["0"], body[:-1]),
        legacy(pickled(1, sizes=(2,)), ["0"], body),
        legacy(pickled(1, view=("v", 1, 1)), ["0"], body),
        legacy(pickled(1, view=("v", -1, 1)), ["0"], body),
        legacy(pickled(1, view=("v", 0, 1 << 62)), ["0"], body),
        legacy(pickled(1, view="v"), ["0"], body),
    ]:
        with pytest.raises((RuntimeError, REFUSED)):
            torch.load(file)


@pytest.mark.parametrize(
    "name", ["torch.Tensor", "torch.FloatStorage", "torch.storage.UntypedStorage", "torch.storage.TypedStorage"]
)
@pytest.mark.parametrize("op", [pickle.REDUCE, pickle.NEWOBJ])
def test_classes_do_not_give_memory(name, op):
    with pytest.raises(REFUSED):
        torch.load(archive(calls(name, 4096, op=op)))


def test_a_bytearray_is_of_bytes():
    assert torch.load(archive(calls("builtins.bytearray", Call("_codecs.encode", ("ab", "latin1"))))) == bytearray(
        b"ab"
    )
    with pytest.raises(REFUSED):
        torch.load(archive(calls("builtins.bytearray", 1 << 40)))


# Each is run with little memory to be had: one that is not refused ends in MemoryError, not in the error that is expected.
BOMB = """
import io, pickle, resource, sys, zipfile
import shim_torch as torch
data = sys.stdin.buffer.read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20),) * 2)
try:
    print(torch.load(io.BytesIO(data)))
except (pickle.UnpicklingError, RuntimeError) as error:
    print("refused", type(error).__name__, error)
    sys.exit(0)
sys.exit(1)
"""


def bombs():
    zeros = bytes(64 << 20)
    yield (
        "inflated",
        archive(tensor_pickle(16 << 20, (1,), (1,)), [("data/0", zeros)], zipfile.ZIP_DEFLATED),
        "compressed",
    )
    many = pickle.PROTO + b"\x02" + written([storage(1 << 18, key=str(i)) for i in range(1000)]) + pickle.STOP
    yield "one record under many names", overlapping(many, bytes(1 << 20), 1000), "larger than the archive"
    again = (
        pickle.GLOBAL + b"_codecs\nencode\n" + pickle.BINGET + b"\7" + written("latin1") + pickle.TUPLE2 + pickle.REDUCE
    )
    copies = pickle.PROTO + b"\x02" + pickle.EMPTY_LIST + pickle.MARK + written("x" * (1 << 20)) + pickle.BINPUT + b"\7"
    yield "copies", archive(copies + again * 10_000 + pickle.APPENDS + pickle.STOP), "far more memory"
    depth = pickle.EMPTY_DICT + pickle.EMPTY_TUPLE + pickle.TUPLE1 * 1_000_000 + pickle.NONE + pickle.SETITEM
    yield "hash", archive(pickle.PROTO + b"\x02" + depth + pickle.STOP), "tuples within tuples"
    yield "text", legacy(b"\x80\x02X\xff\xff\xff\xffabc."), "longer than the file"


def overlapping(pickled, data, many):
    """An archive whose directory gives one record many names."""
    file = archive(pickled, [("data/0", data)])
    with zipfile.ZipFile(file, "a") as out:
        first = out.getinfo("archive/data/0")
        for i in range(1, many):
            info = zipfile.ZipInfo(f"archive/data/{i}")
            info.header_offset, info.file_size, info.compress_size, info.CRC = (
                first.header_offset,
                len(data),
                len(data),
                first.CRC,
            )
            out.filelist.append(info)
        out._didModify = True
    file.seek(0)
    return file


@pytest.mark.parametrize("name, file, message", [pytest.param(*b, id=b[0]) for b in bombs()])
def test_a_small_file_takes_little_memory(name, file, message):
    data = file.getvalue()
    assert len(data) < 8 << 20
    ran = subprocess.run([sys.executable, "-c", BOMB], input=data, capture_output=True, timeout=120)
    assert ran.returncode == 0 and message in ran.stdout.decode(), (
        ran.returncode,
        ran.stdout[-300:],
        ran.stderr[-300:],
    )


@pytest.mark.parametrize("at", range(0, 60, 2))
def test_damaged_archives_say_so(at):
    """The end of the archive, whose numbers say where all else is, overwritten in pieces."""
    whole = archive(tensor_pickle(1, (1,), (1,)), FOUR_BYTES).getvalue()
    for junk in (b"\xff\xff", b"\0\0", b"PK"):
        data = bytearray(whole)
        data[len(data) - at - 2 : len(data) - at] = junk
        try:
            torch.load(io.BytesIO(bytes(data)))
        except (RuntimeError, REFUSED):
            pass


@pytest.mark.parametrize(
    "stream",
    [
        b"\x80\x02q\0.",
        b"\x80\x02X\x02\0\0\0\xff\xfe.",
        b"\x80\x02R.",
        b"\x80\x02h\5.",
        b"\x80\x02.",
        b"\x80\x02t.",
        b"\x80\x02s.",
    ],
)
@pytest.mark.parametrize("form", [archive, legacy])
def test_damaged_pickles_say_so(stream, form):
    with pytest.raises(REFUSED):
        torch.load(form(stream))


def test_shared_maps_do_not_lengthen_the_file(tmp_path):
    path = tmp_path / "file.pt"
    data = archive(tensor_pickle(1 << 20, (1,), (1,)), FOUR_BYTES).getvalue()
    path.write_bytes(data)
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED), pytest.raises(RuntimeError):
        torch.load(path, mmap=True)
    assert path.read_bytes() == data


def test_blocked_modules_stay_blocked():
    import os

    with torch.serialization.safe_globals([os.getcwd]), pytest.raises(REFUSED, match="posix is blocked"):
        torch.load(archive(calls("posix.getcwd")))


def test_tar_files_are_refused(tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "old.tar", "w") as out:
        info = tarfile.TarInfo("storages")
        info.size = 3
        out.addfile(info, io.BytesIO(b"abc"))
    with pytest.raises(RuntimeError, match="legacy .tar format"):
        torch.load(tmp_path / "old.tar")
    with pytest.raises(NotImplementedError, match="legacy .tar format"):
        torch.load(tmp_path / "old.tar", weights_only=False)


def test_unsafe_globals_are_reported():
    file = io.BytesIO()
    torch.save({"a": torch.nn.Linear, "b": torch.strided}, file)
    file.seek(0)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file) == ["torch.nn.modules.linear.Linear"]
    with pytest.raises(REFUSED, match="Unsupported operand"):
        newer = io.BytesIO()
        torch.save({"a": torch.nn.Linear}, newer, pickle_protocol=4)
        newer.seek(0)
        torch.serialization.get_unsafe_globals_in_checkpoint(newer)
