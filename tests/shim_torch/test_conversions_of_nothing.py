"""Conversions that have nothing to do give the tensor itself; who asks to see them still does."""

import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, 3),
        lambda: torch.nn.Parameter(torch.ones(2, 3)),
        lambda: torch.ones(2, 3, requires_grad=True) * 2,
    ],
)
def test_the_same_tensor(make):
    x = make()
    device = torch.device("cpu")
    for same in (x.to(device), x.to("cpu"), x.to("cpu:0"), x.to(torch.float32), x.to(device, torch.float32), x.to(torch.ones(1)), x.to(device=device),
                 x.to(dtype=torch.float32), x.float(), x.cpu(), x.contiguous(), x.to(device, non_blocking=True)):  # fmt: skip
        assert same is x
    for other in (x.to(device, copy=True), x.to(torch.float64), x.to("meta"), x.to(device, torch.int32), x.to(torch.ones(1).double()),
                  x.t().contiguous(), x[None].expand(2, 2, 3).contiguous()):  # fmt: skip
        assert other is not x
    assert x.to(torch.float32, memory_format=torch.contiguous_format) is x
    assert x.t().contiguous().stride() == (2, 1)
    image = torch.ones(2, 3, 4, 5)
    assert image.contiguous(memory_format=torch.channels_last) is not image
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        x.t().contiguous(memory_format=torch.preserve_format)


class Seen(torch.Tensor):
    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


class Given:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "of the class"


def test_overrides_are_found():
    x = torch.ones(2).as_subclass(Seen)
    Seen.calls.clear()
    x.to("cpu"), x.contiguous(), x.to(torch.float32)
    assert Seen.calls.count("to") == 2 and "contiguous" in Seen.calls
    assert torch.add(torch.ones(2), Given()) == "of the class"
    assert torch.overrides.has_torch_function((Given(),)) and not torch.overrides.has_torch_function(
        (object(), "text", torch.device("cpu"), [1])
    )
    with torch.overrides.BaseTorchFunctionMode():
        assert torch.ones(2).to("cpu").tolist() == [1, 1]


def test_limits_of_dtypes_are_the_same_each_time():
    for dtype in (torch.float32, torch.bfloat16, torch.complex64):
        assert torch.finfo(dtype) == torch.finfo(dtype) and torch.finfo(dtype).max == torch.finfo(dtype).max > 1e38
    assert torch.iinfo(torch.uint8).max == 255 and torch.iinfo(torch.uint8).max == 255
    for _ in range(2):
        with pytest.raises(TypeError):
            torch.finfo(torch.int32)
        with pytest.raises(TypeError):
            torch.iinfo(torch.float32)
        with pytest.raises(TypeError):
            torch.finfo([])


def test_limits_of_python_types_are_those_of_what_they_stand_for():
    assert torch.finfo(float) == torch.finfo(complex) == torch.finfo(torch.float64)
    assert torch.iinfo(int) == torch.iinfo(torch.int64)
    for limits, kind, text in (
        (torch.finfo, int, "requires a floating point input type"),
        (torch.finfo, str, "must be torch.dtype, not type"),
        (torch.iinfo, float, "requires an integer input type"),
        (torch.iinfo, bool, "torch.bool is not supported by torch.iinfo"),
    ):
        with pytest.raises(TypeError, match=text):
            limits(kind)
