"""Typed kernels of CUDA tensors: which calls they take, and why they leave others to bodies. Over the simulated driver."""

from __future__ import annotations

from test_simulated_cuda import run, simulated  # noqa: F401 (a fixture)

CALLS = """
import shim_torch as torch
from shim_torch._impl.native import _core

def outcome(operator, call):
    '''("native", None), or ("body", the reason of the kernel).'''
    def counted():
        return dict(_core.operator_declines().get(operator, {})), _core.operator_counts().get(operator, (0, 0))
    before, (_, natives) = counted()
    try:
        call()
    except (ModuleNotFoundError, RuntimeError):
        pass  # a body on CUDA wants CuPy, or refuses the call
    after, (_, more_natives) = counted()
    why = [reason for reason in after if after[reason] != before.get(reason, 0)]
    return "native" if more_natives > natives else "body", *why
"""


def printed(folder, *calls: tuple[str, str]) -> list[str]:
    code = CALLS + "x = torch.rand(3, 4).cuda()\n"
    code += "".join(f"print(outcome({operator!r}, lambda: {call}))\n" for operator, call in calls)
    return run(folder, code).splitlines()


def test_functors_take_operands_and_numbers(simulated):  # noqa: F811
    """One function a shape of arguments serves all operators that are a functor, in place too."""
    calls = (
        ("aten::hardshrink", "torch.nn.functional.hardshrink(x, 0.3)"),
        ("aten::xlogy.Tensor", "torch.xlogy(x, 2.0)"),
        ("aten::lerp.Scalar", "torch.lerp(x, x, 0.5)"),
        ("aten::addcmul_", "x.addcmul_(x, x, value=0.5)"),
        ("aten::logit", "torch.logit(x)"),
    )
    assert printed(simulated, *calls) == ["('native',)"] * len(calls)


def test_declines_have_reasons(simulated):  # noqa: F811
    lines = printed(
        simulated,
        ("aten::softshrink", "torch.nn.functional.softshrink(x, -1)"),
        ("aten::polygamma", "torch.polygamma(1001, x)"),
        ("shim::vector_product", "torch.ops.shim.vector_product(x, x, 1)"),
        ("aten::bincount", "torch.bincount(torch.tensor([2, -1]).cuda())"),
        ("aten::masked_fill.Scalar", "torch.masked_fill(x.long(), x > 0, 2.5)"),
    )
    assert lines == [
        "('body', 'a negative lambd, which PyTorch refuses')",
        "('body', 'an order beyond 1 to 1000')",
        "('body', 'sizes that the kernel does not take')",
        "('body', 'negative values, which PyTorch refuses')",
        "('body', 'a number of another kind')",
    ]


def test_calls_of_other_devices_are_not_counted(simulated):  # noqa: F811
    """A factory's kernel is asked of CPU tensors as well: that is no decline."""
    assert printed(simulated, ("aten::linspace", "torch.linspace(0, 1, 5)"))[0] in {"('native',)", "('body',)"}
    assert printed(simulated, ("aten::linspace", "torch.linspace(0, 1, 5, device='cuda')")) == ["('native',)"]
