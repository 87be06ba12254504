"""Draws that are PyTorch's bit for bit: checksums of them, of short and long tensors, by all parameters."""

import zlib


def inputs(torch):
    """The names that the expressions use."""

    def bits(draw, n, dtype):
        """A checksum of the bits of n numbers that ``draw`` put into a tensor."""
        drawn = draw(torch.zeros(n, dtype=dtype), torch.Generator().manual_seed(n))
        return zlib.crc32(drawn.view(torch.uint8).numpy().tobytes())

    return {
        "torch": torch,
        "bits": bits,
        "sizes": (1, 7, 15, 16, 17, 31, 32, 100, 1000, 4097, 100003),
        "linear": lambda n: zlib.crc32(
            (
                torch.manual_seed(n),
                torch.nn.Linear(n, 33).weight.detach().reshape(-1).view(torch.uint8).numpy().tobytes(),
            )[1]
        ),
    }


DTYPES = ("float32", "float64", "bfloat16", "float16")
DRAWS = (
    *(f"uniform_({a}, {b}" for a, b in ((0, 1), (-1, 1), (-0.3, 0.7), (0.1, 3.3), (-0.0123, 0.0123))),
    *(f"normal_({m}, {s}" for m, s in ((0, 1), (0, 0.02), (1.5, 2.5), (-3, 0.1))),
    "log_normal_(0.3, 0.7",
    "cauchy_(0.3, 0.7",
    "geometric_(0.3",
)
CASES = [
    *(f"[bits(lambda t, g: t.{draw}, generator=g), n, torch.{d}) for n in sizes]" for draw in DRAWS for d in DTYPES),
    *(
        f"[bits(lambda t, g: torch.randn(len(t), dtype=t.dtype, generator=g), n, torch.{d}) for n in sizes]"
        for d in DTYPES
    ),
    *(f"[bits(lambda t, g: t.exponential_(1.7, generator=g), n, torch.{d}) for n in sizes]" for d in DTYPES[:2]),
    *(
        f"[bits(lambda t, g: torch.rrelu(t, {bounds}, True, generator=g), n, torch.{d}) for n in sizes]"
        for bounds in ("1 / 8, 1 / 3", "-0.7, 0.1")
        for d in DTYPES[:2]
    ),
    "[bits(lambda t, g: torch.nn.init.trunc_normal_(t, generator=g), n, torch.float32) for n in sizes]",
    "[bits(lambda t, g: torch.nn.init.kaiming_uniform_(t.reshape(1, -1), generator=g), n, torch.float32) for n in sizes]",
    "[linear(n) for n in (1, 8, 16, 100, 1000)]",
]
