"""Windows of an image as columns and back: settings, single images, refusals."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "aten": torch.ops.aten,
        "x": pattern(torch, 2, 3, 5, 6, seed=1).requires_grad_(),
        "c": pattern(torch, 2, 12, 20, seed=2).requires_grad_(),
    }


CASES = """
F.unfold(x, 2)
F.unfold(x, (2, 3), padding=(1, 0), stride=(2, 1))
F.unfold(x, 2, dilation=2)
F.unfold(x[0], 3)
F.unfold(x * 1j, 2)
F.unfold(x.half(), (5, 6))
F.unfold(x.detach()[:0], 2)
aten.im2col(x, [2, 2], [1, 1], [0, 0], [1, 1])
F.unfold(x, 7)
F.unfold(x[0, 0], 2)
F.unfold(x, 0)
F.unfold(x, 2, stride=0)
F.unfold(x, 2, dilation=0)
F.unfold(x, 2, padding=-1)
F.unfold(x, (2, 2, 2))
F.unfold(x, 2, stride=(1, 1, 1))
F.unfold(x[0, 0, 0].detach(), 2)
F.fold(c, (5, 6), 2, padding=-1)
F.fold(c, (5, 6), (2, 2, 2))
F.unfold(x, 0, padding=-1)
F.unfold(x, 2, dilation=0, stride=0)
F.fold(c, (5, 6), 2, dilation=0, stride=0)
F.fold(c, (5, 6), 2)
F.fold(c[0], (5, 6), 2)
F.fold(c[:, :, :6], (5, 6), 2, stride=2)
F.fold(c, (6, 7), 2, dilation=2)
F.fold(c, (5, 6), 3)
F.fold(c, (4, 6), 2)
F.fold(c, (5, 6), 2, stride=-1)
F.fold(c[0, 0], (5, 6), 2)
F.fold(c, (5,), 2)
aten.col2im(c, [5, 6], [2, 2], [1, 1], [0, 0], [1, 1])
""".strip().splitlines()
