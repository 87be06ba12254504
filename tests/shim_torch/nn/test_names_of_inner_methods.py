"""Inner methods of modules that libraries call and classes they derive from: the arguments' names and places are PyTorch's."""

import pytest

import shim_torch as torch
from shim_torch.nn.modules.conv import _ConvNd


def test_named_members_by_its_argument():
    """diffusers and sentence-transformers look for tensors that are no parameters so."""
    module = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
    module[1].plain = torch.ones(2)

    def tensors(m):
        return [(k, v) for k, v in vars(m).items() if torch.is_tensor(v)]

    assert [(n, t.shape) for n, t in module._named_members(get_members_fn=tensors)] == [("1.plain", (2,))]


def test_errors_name_a_method_as_pytorchs():
    with pytest.raises(TypeError, match=r"^Module.requires_grad_\(\) got an unexpected keyword argument 'x'$"):
        torch.nn.Identity().requires_grad_(x=1)
    assert torch.nn.Linear.load_state_dict.__qualname__ == "Module.load_state_dict"
    assert torch.nn.Linear.forward.__qualname__ == "Linear.forward"


def test_modules_may_repeat():
    layer = torch.nn.Identity()
    module = torch.nn.Sequential(layer, layer)
    assert len(list(module.modules())) == 2 and len(list(module.modules(remove_duplicate=False))) == 3


class Own(_ConvNd):
    def __init__(self, transposed):
        super().__init__(4, 6, (3, 3), (1, 1), (1, 2), (1, 1), transposed, (0, 0), 2, True, "reflect")

    def forward(self, x):
        x = torch.nn.functional.pad(x, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return torch.nn.functional.conv2d(x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


def test_a_convolution_of_ones_own():
    own = Own(False)
    plain = torch.nn.Conv2d(4, 6, 3, padding=(1, 2), groups=2, padding_mode="reflect")
    plain.load_state_dict(own.state_dict())
    x = torch.randn(2, 4, 7, 8)
    assert own._reversed_padding_repeated_twice == (2, 2, 1, 1) and str(own) == str(plain).replace("Conv2d", "Own")
    torch.testing.assert_close(own(x), plain(x))
    assert Own(True).weight.shape == (4, 3, 3, 3) and Own(True).transposed
    same = torch.nn.Conv1d(2, 2, 4, padding="same")
    assert same._reversed_padding_repeated_twice == [1, 2]
