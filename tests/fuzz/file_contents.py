"""Valid files to start from, the side effects that a load must not have, and what a loaded tensor may hold."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

UNREADABLE = (
    zipfile.BadZipFile,
    NotImplementedError,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    zlib.error,
    struct.error,
)
MORE = 256 << 20  # bytes that a load may need beside what its file holds


def objects(torch: Any) -> dict[str, Any]:
    """What programs save: tensors of every kind, shared storages, containers, a module's and an optimizer's state."""
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    layer = torch.nn.Linear(3, 2)
    layer.weight.data.fill_(0.5)
    adam = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    adam.step()
    tagged = torch.ones(3)
    tagged.name_of_it = "x"
    nested: Any = [1, 2.5, None, True, "text", b"bytes", (1, (2, (3,))), {"a": [base], 3: {4, 5}}, 1 << 70, 2 - 1j]
    every = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()
    found = {
        "one": base,
        "views": {"whole": base, "row": base[1], "column": base[:, 2], "transposed": base.t(), "step": base[::2, 1::2]},
        "dtypes": {name: torch.ones(5).to(getattr(torch, name)) for name in every},
        "newer dtypes": [
            torch.ones(5).to(getattr(torch, name)) for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint64")
        ],
        "parameters": {"p": torch.nn.Parameter(base.clone()), "buffer": torch.zeros(0), "scalar": torch.tensor(3)},
        "state": {"model": layer.state_dict(), "optimizer": adam.state_dict(), "epoch": 3},
        "nested": nested,
        "ordered": collections.OrderedDict([("b", base), ("a", collections.Counter("aab"))]),
        "sparse": torch.eye(3).to_sparse(),
        "compressed": torch.eye(3).to_sparse_csr(),
        "storage": base.untyped_storage(),
        "gradient": torch.ones(2, requires_grad=True),
        "plain": [torch.Size([1, 2]), torch.float16, torch.device("cpu"), torch.strided],
        "conjugated": torch.ones(2, dtype=torch.complex64).conj(),
        "tagged": tagged,
        "bytes": bytearray(b"abc"),
        "large": torch.arange(20000),
    }
    quantized = getattr(torch, "quantize_per_tensor", None)
    if quantized is not None:
        try:
            found["quantized"] = quantized(base, 0.1, 0, torch.qint8)
        except (NotImplementedError, RuntimeError):
            pass  # a package without quantized tensors
    return found


def files(torch: Any) -> list[tuple[str, bytes]]:
    """(name, bytes) of every object in both formats; with what cannot be written in one left out of it."""
    found = []
    for name, value in objects(torch).items():
        for form in ("zip", "legacy"):
            if form == "legacy" and name in ("storage", "newer dtypes"):
                continue  # PyTorch writes it and does not read it
            file = io.BytesIO()
            try:
                torch.save(value, file, _use_new_zipfile_serialization=form == "zip")
            except (NotImplementedError, RuntimeError, AttributeError):
                continue
            found.append((f"{form} {name}", file.getvalue()))
    return found


class Watch:
    """Tells, by Python's audit events, what a load does to the system while it is ``armed``."""

    EVENTS = (
        "os.system os.exec os.posix_spawn os.fork os.forkpty os.spawn os.startfile os.remove os.rename os.mkdir os.rmdir os.chmod os.chown "
        "os.link os.symlink os.truncate os.putenv os.unsetenv os.kill os.killpg os.listdir os.scandir os.chdir subprocess.Popen socket. "
        "shutil. ctypes. pty. tempfile. webbrowser. urllib. ftplib. smtplib. builtins.input code.__new__ function.__new__ "
        "signal. sys.setprofile sys.settrace sys.addaudithook gc. fcntl. syslog. sqlite3. resource. winreg. http."
    ).split()
    KNOWN = ("shim_torch", "torch", "compat", "shim_torch_proxy", "numpy", "ml_dtypes", "scipy")

    def __init__(self, path: str) -> None:
        self.armed, self.path = False, path  # the file that may be read
        self.seen: list[str] = []
        self.packages = tuple(f"{p}/{n}" for p in sys.path if p for n in self.KNOWN)
        sys.addaudithook(self.hook)

    def own(self, path: Any) -> bool:
        return isinstance(path, str) and (path.startswith((*self.packages, "<frozen", "<__array_function__")))

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event == "open":
            mode = args[1] if isinstance(args[1], str) else ""
            read = isinstance(args[0], str) and args[0] != self.path and not args[0].endswith((".py", ".pyc", ".so"))
            bad = read or any(c in mode for c in "wax+") or (not mode and args[2] & 3)
        elif event == "import":
            bad = args[0].split(".")[0] not in self.KNOWN
        elif event == "exec":
            bad = not self.own(args[0].co_filename)
        elif event == "compile":
            bad = not self.own(args[1])
        else:
            bad = any(event == e or (e.endswith(".") and event.startswith(e)) for e in self.EVENTS)
        if bad:
            self.seen.append(f"{event} {str(args[0])[:80]}")


def tensors_in(value: Any, torch: Any) -> Iterator[Any]:
    """Every tensor and storage that can be reached from an object, each once, however it is nested."""
    waiting, known = [value], set()
    while waiting and len(known) < 100_000:
        v = waiting.pop()
        if id(v) in known:
            continue
        known.add(id(v))
        if isinstance(v, torch.Tensor):
            yield v
            waiting.append(getattr(v, "__dict__", None))
        elif isinstance(v, (torch.UntypedStorage, torch.storage.TypedStorage)):
            yield v
        elif isinstance(v, dict):
            waiting += [*v.keys(), *v.values()]
            waiting.append(getattr(v, "__dict__", None))
        elif isinstance(v, (list, tuple, set, frozenset)):
            waiting += list(v)


def fault(t: Any, data: bytes, torch: Any) -> str | None:
    """What is wrong with a tensor or storage that was loaded from a file of these bytes."""
    if isinstance(t, torch.Tensor):
        if t.layout is not torch.strided or t.is_meta or t.is_nested:
            return None
        storage, reach = t.untyped_storage(), 0
        if t.numel():
            reach = t.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        if min((t.storage_offset(), *t.stride(), *t.shape)) < 0 or reach * t.element_size() > storage.nbytes():
            return f"a tensor reaches past its storage: {tuple(t.shape)} {t.stride()} {t.storage_offset()} in {storage.nbytes()} bytes"
    else:
        storage = t if isinstance(t, torch.UntypedStorage) else t.untyped()
    if storage.device.type != "cpu":
        return None
    if storage.nbytes() > MORE:
        return f"a storage is larger than its file: {storage.nbytes()} bytes from {len(data)}"
    held = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes()
    if any(held) and held not in plain(data):
        return f"a storage holds what is not in the file: {len(held)} bytes, {held[:16].hex()}"
    return None


@functools.lru_cache(maxsize=1)
def plain(data: bytes) -> bytes:
    """A file's bytes, and those of its compressed records; numbers in the other byte order too."""
    found = [data]
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.compress_type == zipfile.ZIP_DEFLATED and info.file_size < 1 << 20:
                    del info.CRC  # torch.load asks for none
                    with contextlib.suppress(*UNREADABLE), archive.open(info) as record:
                        found.append(record.read(info.file_size))
    except UNREADABLE:
        pass  # what the package makes of it all the same is in the file as it is
    for part in list(found) if b"big" in data else ():
        for size in (2, 4, 8):
            for start in range(size):
                whole = part[start : start + (len(part) - start) // size * size]
                found.append(b"".join(whole[i : i + size][::-1] for i in range(0, len(whole), size)))
    return b"\xff\0".join(found)


def read(t: Any, torch: Any) -> None:
    """Touches the elements, which faults where they are not in memory."""
    if isinstance(t, torch.Tensor) and t.numel() < 1_000_000 and not t.is_meta:
        repr(t)
        t.detach().clone()
