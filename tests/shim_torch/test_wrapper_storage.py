"""The storage of a wrapper subclass has a size and no memory: reading or writing it raises."""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile

import pytest

import shim_torch as torch


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, sizes):
        return torch.Tensor._make_wrapper_subclass(cls, sizes)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s.clone(),
        lambda s: s.tolist(),
        lambda s: s[0],
        lambda s: s.__setitem__(0, 1),
        lambda s: bytes(s),
        lambda s: s.copy_(torch.UntypedStorage(24)),
        lambda s: torch.UntypedStorage(24).copy_(s),
    ],
)
def test_memory_that_is_not_there(use):
    storage = Wrapper((2, 3)).untyped_storage()
    assert storage.nbytes() == 24
    with pytest.raises(RuntimeError, match="invalid python storage|not allocated yet|doesn't have storage"):
        use(storage)


class Scaled(torch.Tensor):
    """Whole numbers and a scale, as quantization libraries keep weights."""

    @staticmethod
    def __new__(cls, data, scale):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=scale.dtype, device=data.device)

    def __init__(self, data, scale):
        self.whole, self.scale = data, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].whole, args[0].scale)
        args = [a.whole * a.scale if isinstance(a, cls) else a for a in args]
        return func(*args, **(kwargs or {}))


def test_wrappers_are_saved_and_loaded():
    made = Scaled(torch.tensor([1, 2], dtype=torch.int8), torch.tensor(0.5))
    held = torch.nn.Parameter(made, requires_grad=False)
    file = io.BytesIO()
    torch.save({"w": held, "x": made}, file)
    with zipfile.ZipFile(file) as archive:
        names = {a for op, a, _ in pickletools.genops(archive.read("archive/data.pkl")) if op.name == "GLOBAL"}
    assert {"torch._tensor _rebuild_from_type_v2", "torch._utils _rebuild_wrapper_subclass"} <= names
    file.seek(0)
    with torch.serialization.safe_globals([Scaled]):
        found = torch.load(file)
    for one in found.values():
        assert type(one) is Scaled and one.whole.tolist() == [1, 2] and one.scale.item() == 0.5
        assert (one + 1).tolist() == [1.5, 2.0]
    assert isinstance(found["w"], torch.nn.Parameter) and not isinstance(found["x"], torch.nn.Parameter)
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is Scaled and again.whole.tolist() == [1, 2] and again.dtype == torch.float32
