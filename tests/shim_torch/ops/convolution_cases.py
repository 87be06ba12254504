"""Convolutions, their transposes and columns of windows."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    names = {
        "x1": (2, 4, 7),
        "x2": (2, 4, 6, 5),
        "x3": (1, 2, 4, 3, 5),
        "w1": (6, 4, 3),
        "g1": (6, 2, 3),
        "w2": (6, 4, 3, 2),
        "g2": (6, 2, 3, 2),
        "d2": (4, 1, 3, 3),
        "w3": (3, 2, 2, 2, 3),
        "t1": (4, 3, 3),
        "t2": (4, 3, 3, 2),
        "t3": (2, 3, 2, 1, 2),
        "b": (6,),
        "b3": (3,),
        "c": (2, 12, 8),
    }
    made = {n: pattern(torch, *s, seed=i).requires_grad_() for i, (n, s) in enumerate(names.items())}
    return {**made, "torch": torch, "F": torch.nn.functional, "aten": torch.ops.aten}


CASES = """
F.conv1d(x1, w1)
F.conv1d(x1, w1, b, 2, 1)
F.conv1d(x1, g1, b, padding='same', groups=2)
F.conv1d(x1[0], w1, b, padding=2, dilation=2)
F.conv1d(x1, torch.ones(6, 4, 2), padding='same')
torch.conv2d(x2, w2, b)
F.conv2d(x2, w2, b, (2, 1), (1, 0), (1, 2))
F.conv2d(x2, w2, b, 2, 1)
F.conv2d(x2, g2, None, 1, 1, 2, 2)
F.conv2d(x2, d2, None, 1, 1, 1, 4)
F.conv2d(x2[1], w2)
F.conv2d(x2, w2, b, padding='same', dilation=2)
F.conv2d(x2, w2, b, padding='valid')
F.conv2d(x2[:0], w2, b)
F.conv2d(x2.double(), w2.double(), b.double(), 3)
F.conv2d(x2.bfloat16(), w2.bfloat16(), b.bfloat16())
F.conv2d(x2.half(), w2.half(), b.half(), padding=1)
F.conv2d(torch.arange(16).reshape(1, 1, 4, 4), torch.arange(4).reshape(1, 1, 2, 2))
F.conv2d(x2.transpose(2, 3), w2)
F.conv3d(x3, w3, b3, (1, 2, 1), (1, 0, 1))
F.conv_transpose1d(x1, t1)
F.conv_transpose1d(x1, t1, b3, 2, 1, 1)
F.conv_transpose1d(x1[0], t1, None, 3, 0, 0, 2, 2)
F.conv_transpose2d(x2, t2, b3)
F.conv_transpose2d(x2, t2, None, (2, 3), (1, 0), (1, 2))
F.conv_transpose2d(x2, t2, None, 2, 1, 1, 2, (1, 2))
F.conv_transpose3d(x3, t3, b3, 2, 0, 1)
F.unfold(x2, (2, 3))
F.unfold(x2, 2, 2, 1, 2)
F.unfold(x2[0], 3)
F.fold(c, (5, 3), 2)
F.fold(c, (3, 5), (2, 3), stride=2, padding=(1, 2))
F.fold(c[0], (5, 3), 2)
torch.conv_tbc(x1, torch.ones(3, 7, 2), torch.ones(2), 1)
aten.convolution_backward(x2.detach()[:, :, :4, :4], x2.detach(), torch.ones(4, 4, 3, 2), [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
aten.convolution_backward(x2.detach()[:, :, :4, :4], x2.detach(), torch.ones(4, 4, 3, 2), [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])
torch.autograd.grad(F.conv2d(x2, w2, b, 2, 1).square().sum(), [x2, w2, b], create_graph=True)
torch.autograd.grad(F.conv2d(x2, g2, None, 1, 1, 2, 2).square().sum(), [x2, g2], create_graph=True)
torch.autograd.grad(F.conv_transpose2d(x2, t2, None, 2, 1, 1, 2).square().sum(), [x2, t2], create_graph=True)
F.conv2d(x1, w1)
F.conv2d(x2[:, :2], w2)
F.conv2d(x2, w2[:, :, :2, :2], padding='same', stride=2)
F.conv2d(x2, torch.ones(2, 4, 9, 9))
F.conv2d(x2, w2, b3)
F.conv2d(x2, w2, stride=0)
F.conv2d(x2, w2, padding=-1)
F.conv2d(x2, w2, dilation=0)
F.conv2d(x2, w2, groups=4)
F.conv2d(x2, w2, groups=0)
F.conv2d(x2, w2, stride=(1, 2, 3))
F.conv2d(x2, w2, padding='foo')
F.conv2d(x2.double(), w2)
F.conv2d(x2, w2, b.double())
F.conv_transpose2d(x2, t2, output_padding=2)
F.conv_transpose2d(x2[:, :3], t2)
F.conv_transpose2d(x2, t2, b)
F.unfold(x2, 9)
F.unfold(x2, 0)
F.fold(c, (4, 4), 5)
F.fold(c, (4, 4), 2)
""".strip().splitlines()
