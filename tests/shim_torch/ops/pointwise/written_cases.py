"""What is refused first where a result is written to a tensor: its shape and dtype before a kernel that lacks a dtype."""

from ..expressions import pattern

NAMES = "bitwise_and bitwise_left_shift remainder floor_divide atan2 gcd lt copysign hypot".split()


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 3, seed=1)
    return {
        "torch": torch,
        "x": x,
        "i": torch.arange(3, dtype=torch.int32),
        "z": torch.ones(3, dtype=torch.complex64),
        "left": torch.tensor([1 + 2j, -1 + 2j, -3 - 0.1j, -0.3 + 0.1j], dtype=torch.complex128, requires_grad=True),
        "leaf": pattern(torch, 3, seed=2).requires_grad_(),
        "nan": torch.tensor([complex("nan"), complex("inf"), 0j, 1 + 2j, -1 + 0j, 2j], dtype=torch.complex128),
        **{f"{n}_": (lambda name: lambda a, b: getattr(a.clone(), f"{name}_")(b))(n) for n in NAMES},
    }


CASES = (
    [f"{name}_({given})" for name in NAMES for given in ("x, z", "x, 2j", "x[:1], z", "i, 1.5", "i, x", "x, z[0]")]
    + """
torch.bitwise_and(x, z, out=i)
torch.gcd(x, 1.5, out=i)
torch.lt(x, z, out=i)
torch.remainder(x, z, out=torch.empty(0, dtype=torch.complex64))
leaf.expand(2, 3).mul_(2)
leaf.mul_(2)
torch.nextafter(leaf, leaf.detach().round())
torch.nextafter(leaf, leaf)
torch.pow(nan, 0)
torch.pow(nan, 1)
torch.pow(nan, 2.0)
torch.pow(nan, 3)
torch.pow(nan, -1)
torch.pow(nan, -2)
torch.pow(nan[3:], 0.5)
torch.pow(nan[3:], -0.5)
torch.pow(nan, 2 + 0j)
torch.pow(nan, 4)
nan.clone().pow_(0)
nan.clone().pow_(3)
torch.pow(nan, torch.tensor(2))
nan.to(torch.complex64) ** 2
nan / float('inf')
nan / complex(0, float('inf'))
nan / torch.full((6,), -float('inf'))
""".strip().splitlines()
)
CASES += [
    f"torch.autograd.grad(left.{name}().real.sum(), left)"
    for name in ("acosh", "acos", "asin", "asinh", "atanh", "log1p", "rsqrt")
]
