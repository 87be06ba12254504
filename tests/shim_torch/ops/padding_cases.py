"""Paddings: by numbers, reflections, edges and themselves."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    shapes = {"a": (3, 4), "b": (4, 5), "c": (2, 3, 4), "d": (2, 4, 3), "v": (4,), "s": (3, 3), "x": (1, 2, 4, 5)}
    made = {n: pattern(torch, *s, seed=i + 1).requires_grad_() for i, (n, s) in enumerate(shapes.items())}
    return {**made, "torch": torch, "F": torch.nn.functional, "nn": torch.nn, "i": torch.tensor([[0, 2], [1, 1]])}


_PADS = [
    f"F.pad({x}, {pad}, {mode!r})"
    for mode in ("reflect", "replicate", "circular")
    for x, pad in (
        ("a", "(1, 2)"),
        ("c", "(2, 1)"),
        ("x", "(1, 2, 3, 1)"),
        ("x.unsqueeze(0)", "(1, 0, 2, 1, 1, 0)"),
        ("c", "(-1, 1)"),
    )
]
_REST = """
nn.ZeroPad2d((1, 2, 0, 1))(x)
nn.ReflectionPad1d(2)(c)
nn.ReplicationPad3d(1)(x)
nn.CircularPad2d(1)(x)
nn.ConstantPad1d(1, 2.5)(a)
F.pad(a, (1, 1, 1), 'constant')
F.pad(a, (4, 4), 'reflect')
F.pad(a, (1, 1), 'foo')
F.pad(a, (1, 1, 1, 1), 'reflect')
F.pad(x, (6, 1, 1, 1), 'circular')
F.pad(c, (1, 1), 'reflect', 2.0)
torch.ops.aten.pad(x, (1, 1), 'replicate')
torch.ops.aten.reflection_pad2d(x, (1, 1, 2, 0))
torch.ops.aten.replication_pad1d(c, (1, 1))
"""
CASES = [*_PADS, *_REST.strip().splitlines()]
