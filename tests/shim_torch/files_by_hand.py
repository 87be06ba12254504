"""Files that ``torch.save`` would not write: pickles put together by hand, in archives and in the format before PyTorch 1.6."""

import io
import pickle
import zipfile


def archive(pickled, records=(), compression=zipfile.ZIP_STORED):
    """An archive with this pickle and these records, ``(name, bytes)``."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as out:
        for name, data in [("data.pkl", pickled), ("byteorder", b"little"), ("version", b"3\n"), *records]:
            out.writestr(f"archive/{name}", data)
    file.seek(0)
    return file


def legacy(pickled, keys=(), storages=b""):
    """A file of before PyTorch 1.6 with this pickle."""
    info = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    heads = [0x1950A86A20F9469CFC6C, 1001, info]
    body = b"".join(pickle.dumps(h, 2) for h in heads) + pickled + pickle.dumps([*keys], 2) + storages
    return io.BytesIO(body)


def calls(name, *args, op=pickle.REDUCE):
    """A pickle that calls ``name`` with what ``args`` pickle as; a Name among them is looked up, an Id is a storage."""
    return pickle.PROTO + b"\x02" + written(Call(name, args, op)) + pickle.STOP


class Name(str):
    """``"module name"`` as an argument."""


class Call:
    def __init__(self, name, args, op=pickle.REDUCE):
        self.name, self.args, self.op = name, args, op


class Id(tuple):
    """A persistent id."""


def written(value):
    if isinstance(value, Name):
        module, name = value.rsplit(".", 1)
        return pickle.GLOBAL + f"{module}\n{name}\n".encode()
    if isinstance(value, Call):
        return written(Name(value.name)) + written(tuple(value.args)) + value.op
    if isinstance(value, (tuple, list)):
        inside = pickle.MARK + b"".join(map(written, value))
        kind = pickle.TUPLE if isinstance(value, tuple) else pickle.LIST
        made = inside + kind if kind == pickle.TUPLE else pickle.EMPTY_LIST + inside + pickle.APPENDS
        return made + (pickle.BINPERSID if isinstance(value, Id) else b"")
    if isinstance(value, dict):
        pairs = b"".join(written(k) + written(v) for k, v in value.items())
        return pickle.EMPTY_DICT + pickle.MARK + pairs + pickle.SETITEMS
    return pickle.dumps(value, 2)[2:-1]


FLOATS = "torch.FloatStorage"


def storage(count, kind=FLOATS, key="0", location="cpu"):
    return Id(("storage", Name(kind), key, location, count))


def tensor_pickle(count, sizes, strides, offset=0):
    return calls("torch._utils._rebuild_tensor_v2", storage(count), offset, sizes, strides, False, {})


FOUR_BYTES = [("data/0", b"\0\0\x80?")]
REFUSED = pickle.UnpicklingError
