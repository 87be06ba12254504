"""What stands in data/*.pt: objects as torch.save stores them, in PyTorch's format and in that of before 1.6, and a model."""

import io
from collections import OrderedDict


def objects(torch):
    """Tensors and views of one storage, dtypes, devices and the containers that a file may hold."""
    a = torch.arange(12.0).reshape(3, 4)
    return {
        "a": a,
        "view": a[1:, ::2],
        "p": torch.nn.Parameter(torch.ones(2)),
        "d": torch.float16,
        "dev": torch.device("cuda:0"),
        "sz": torch.Size([1, 2]),
        "bf": torch.arange(3.0).bfloat16(),
        "f8": torch.arange(4.0).to(torch.float8_e4m3fn),
        "u16": torch.arange(3).to(torch.uint16),
        "c": torch.tensor([1 + 2j]),
        "b": torch.tensor([True, False]),
        "i": torch.arange(3),
        "meta": torch.empty(2, 3, device="meta"),
        "n": [1, 2.5, "x", None, True, (1, 2), {3}, b"by"],
        "od": OrderedDict(z=1),
        "rg": torch.ones(2, requires_grad=True),
        "e": torch.empty(0),
        "s": torch.tensor(3),
        "z": 0,
    }


def model(torch):
    """A model, stored whole."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())


def written(torch, name):
    """The bytes of data/<name>.pt."""
    kept = objects(torch)
    if name == "objects_legacy":  # of what that format knows
        kept = {k: v for k, v in kept.items() if k not in ("f8", "u16", "meta")}
    file = io.BytesIO()
    torch.save(model(torch) if name == "model" else kept, file, _use_new_zipfile_serialization=name != "objects_legacy")
    return file.getvalue()
