"""repr, str and formatting of tensors of all dtypes, and of what else torch prints."""

from collections.abc import Iterator

from _compare import COMPLEX, FLOATS, INTS, Case, T

NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


def cases() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTS, *COMPLEX, "bool"):
        for shape in ((), (0,), (3,), (2, 3), (2, 1, 3), (0, 3), (1001,), (40, 40), (3, 2000)):
            for form in ("normal", "edges", "positive") if dtype in FLOATS else ("normal",):
                yield Case("repr(x)", {"x": T(*shape, dtype=dtype, form=form, grad=False)}, grad=0)
        yield Case("str(x.requires_grad_())", {"x": T(2, dtype=dtype, grad=False)}, grad=0)
    for name in NARROW:
        yield Case(f"repr(x.to(torch.{name}))", {"x": T(5, form="positive", grad=False)}, grad=0)
    for number in (
        "1e10",
        "1e-10",
        "123456.789",
        "0.1",
        "1e5",
        "99999.5",
        "-0.0",
        "float('inf')",
        "float('nan')",
        "1",
        "True",
        "2j",
    ):
        yield Case(f"repr(torch.tensor({number}))", {}, grad=0)
        yield Case(f"repr(torch.tensor([{number}, 1.5]))", {}, grad=0)
        yield Case(f"f'{{torch.tensor({number})}}'", {}, grad=0)
        yield Case(f"format(torch.tensor({number}), '.3f')", {}, grad=0)
    for code in (
        "x*2",
        "x.sum()",
        "x.t()",
        "x.T",
        "x.unsqueeze(0)",
        "x.to('meta')",
        "x.exp().detach()",
        "torch.nn.Parameter(x.detach())",
    ):
        yield Case(f"repr({code})", {"x": T(2, 3)}, grad=0)
    for code in ("torch.float32", "torch.device('cpu')", "torch.device('cuda:1')", "torch.Size([1, 2])", "torch.strided",
                 "torch.contiguous_format", "torch.finfo(torch.float32)", "torch.finfo(torch.bfloat16)", "torch.iinfo(torch.int8)",
                 "torch.nn.Linear(2, 3)", "torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.1))"):  # fmt: skip
        yield Case(f"repr({code})", {}, grad=0)
        yield Case(f"str({code})", {}, grad=0)
