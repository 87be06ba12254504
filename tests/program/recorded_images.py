"""Recordings of networks of images, whose programs lie on the CPU as they would on CUDA."""

from recording import Recording

import shim_torch as torch
from shim_torch._impl.native import _core


class Images(Recording):
    """A recording of networks of images."""

    channels_last_on_cpu = True

    def conv(self, x, w, bias=None, stride=1, groups=1):
        pad = w.shape[-1] // 2
        return self.step("convolution", x, w, bias, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups)

    def norm(self, x, weight, bias, mean, variance):
        name = "shim::channel_norm"
        return _core.record_step(self.recorder, name, "", x, weight, bias, mean, variance, False, 1e-5)[0]

    def relu(self, x):
        return self.step("relu", x)

    def add(self, x, y):
        return self.step("add.Tensor", x, y)


def weights(*shapes):
    return [torch.randn(shape) / max(1, shape[1] * 3) for shape in shapes]


def kept(r):
    return [line for line in r.lines if "= kept(" in line]
