"""torch._C: functions that libraries call there, and schemas parsed."""

import pytest

import shim_torch as torch


def test_c_module():
    c = torch._C
    assert c.TensorBase is torch.Tensor.__mro__[1] or issubclass(torch.Tensor, c.TensorBase)
    x = torch.arange(10)
    assert c._overlaps(x[:5], x[4:])
    assert not c._overlaps(x[:5], x[5:])
    assert c._is_alias_of(x[:5], x[5:])
    assert not c._is_alias_of(x, torch.arange(10))
    assert c._nn._parse_to("cpu", torch.float16) == (torch.device("cpu"), torch.float16, False, None)
    assert c._nn.gelu(torch.zeros(1)).item() == 0.0
    schema = c.parse_schema("my::op(Tensor x, int[]? y=None) -> Tensor")
    assert schema.name == "my::op"
    assert [a.name for a in schema.arguments] == ["x", "y"]
    assert isinstance(schema.arguments[1].type, c.OptionalType)
    assert c._log_api_usage_once("x") is None
    assert c._cuda_getDeviceCount() == torch.cuda.device_count()
    with pytest.raises(AttributeError):
        c.no_such_thing
