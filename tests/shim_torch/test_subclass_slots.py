"""Attributes in slots of tensor classes, which catch every call through __torch_function__."""

import copy
import io
import pickle

import pytest

import shim_torch as torch


class Slotted(torch.Tensor):
    __slots__ = ["log"]

    @staticmethod
    def __new__(cls, data, log=None):
        made = torch.Tensor._make_subclass(cls, data, require_grad=data.requires_grad)
        made.log = [] if log is None else log
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log = next((a.log for a in args if isinstance(a, cls)), None)
        found = torch.overrides.redispatch_function(func, types, args, kwargs)
        if isinstance(found, torch.Tensor) and not isinstance(found, cls):
            return cls(found, log)
        return found


def test_making_one_that_requires_grad_calls_nothing_of_its_class():
    x = Slotted(torch.ones(2, requires_grad=True))
    assert x.requires_grad and x.log == []
    y = -torch.nn.Parameter(x.detach())
    assert isinstance(y, Slotted) and y.requires_grad


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "save"])
def test_slots_and_attributes_are_copied(how):
    x = Slotted(torch.arange(3.0), ["known"])
    x.more = 5
    if how == "deepcopy":
        y = copy.deepcopy(x)
    elif how == "pickle":
        y = pickle.loads(pickle.dumps(x))
    else:
        file = io.BytesIO()
        torch.save(x, file)
        file.seek(0)
        with torch.serialization.safe_globals([Slotted]):
            y = torch.load(file)
    assert type(y) is Slotted and y.log == ["known"] and y.more == 5
    assert y.tolist() == [0, 1, 2] and y.log is not x.log


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "args"), [("resize_", (0,)), ("copy_", ()), ("fill_", (0,)), ("_write_file", ("file",))]
)
def test_a_wrappers_storage_has_a_size_and_no_data(name, args):
    storage = Wrapper(torch.ones(2)).untyped_storage()
    assert storage.nbytes() == 8
    with pytest.raises(RuntimeError, match=rf"Attempted to call {name}\(\) on an invalid python storage."):
        getattr(storage, name)(*(args or (storage,)))
    with pytest.raises(RuntimeError, match="Attempted to access the data pointer on an invalid python storage."):
        storage.data_ptr()
