"""The small float64 inputs of gradient_samples.py."""


def inputs(torch):
    """Leaves by name: the lower-case ones of one or two letters are differentiated where an expression names them."""

    def wave(*shape, scale=1.7, shift=0.3, step=2.39):
        n = 1
        for d in shape:
            n *= d
        i = torch.arange(n, dtype=torch.float64)
        return (torch.sin(i * i * 0.37 + i * step + shift) * scale).reshape(shape)

    well = torch.eye(3, dtype=torch.float64) * 3 + wave(3, 3, step=1.3)
    return {
        "a": wave(2, 3),
        "b": wave(2, 3, shift=1.1, step=1.7),
        "c": wave(3, shift=2.0),
        "d": wave(2, 1, shift=0.9),
        "p": wave(2, 3, scale=0.8, shift=1.3) + 1.2,
        "q": wave(3, scale=0.5, shift=0.2) + 1.3,
        "u": wave(2, 3, scale=0.8),
        "s": well,
        "w": wave(2, 3, 3, step=1.9),
        "m": wave(3, 4, step=3.1),
        "n": wave(2, 3, 4, step=2.3),
        "o": wave(2, 4, 3, step=1.1),
        "x": wave(2, 2, 6, step=1.37),
        "y": wave(1, 2, 5, 6, step=1.23),
        "v": wave(1, 2, 4, 4, 3, step=0.83),
        "k": wave(4, 1, 3, step=2.7),
        "h": wave(2, 2, 3, 3, step=0.7),
        "l": wave(2, shift=0.5),
        "z": torch.view_as_complex(wave(2, 3, 2, step=1.61)),
        "zs": torch.view_as_complex(torch.stack([well, wave(3, 3, step=0.77)], -1)),
        "r": wave(1, 8, 4, step=1.9),
        "nan": torch.tensor([1.0, float("nan"), -2.0], dtype=torch.float64),
        "eye": torch.eye(3, dtype=torch.float64),
        "CONSTANT": wave(2, 3, scale=0.6, shift=0.5) + 1.4,
        "mask": torch.tensor([[True, False, True], [False, False, True]]),
        "at": torch.tensor([1, 0, 1]),
        "grid": torch.tensor([[0, 1, 0], [1, 1, 0]]),
        "torch": torch,
        "aten": torch.ops.aten,
        "F": torch.nn.functional,
    }
