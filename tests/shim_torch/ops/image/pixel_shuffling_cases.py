"""Channels moved into pixels and back, and channels shuffled."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 2, 8, 2, 3, seed=1).requires_grad_()
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "y": pattern(torch, 2, 2, 4, 6, seed=2),
        "i": torch.arange(96).reshape(1, 4, 4, 6),
        "last": pattern(torch, 2, 8, 4, 6, seed=3).to(memory_format=torch.channels_last),
    }


CASES = """
F.pixel_shuffle(x, 2)
F.pixel_shuffle(x[0], 2)
F.pixel_shuffle(x[None], 2)
F.pixel_shuffle(i, 2)
F.pixel_shuffle(x.detach()[:0], 2)
F.pixel_shuffle(last, 2).stride()
F.pixel_shuffle(x, 3)
F.pixel_shuffle(x, 0)
F.pixel_shuffle(x[0, 0], 2)
F.pixel_unshuffle(y, 2)
F.pixel_unshuffle(y[0], 2)
F.pixel_unshuffle(last, 2).stride()
F.pixel_unshuffle(y, 4)
F.pixel_unshuffle(y, -1)
F.pixel_unshuffle(x, 3)
torch.channel_shuffle(x, 4)
torch.native_channel_shuffle(x.detach(), 2)
torch.channel_shuffle(x, 3)
torch.channel_shuffle(x, 0)
torch.channel_shuffle(x[0, 0], 1)
torch.channel_shuffle(last, 2).stride()
torch.channel_shuffle(last, 1).stride()
torch.channel_shuffle(last[:, ::2], 2)
torch.channel_shuffle(y.mT, 1).stride()
[f(t, 2).data_ptr() == t.data_ptr() for f in (F.pixel_shuffle, F.channel_shuffle) for t in [i[:, :, :1, :1].contiguous()]]
F.pixel_unshuffle(i[:, :1, :2, :2], 2).stride()
""".strip().splitlines()
