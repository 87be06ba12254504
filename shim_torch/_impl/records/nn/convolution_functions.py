"""conv1d to conv_transpose3d and their like, over the one operator."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.formulas import sizes_text
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite


def _check_dims(name: str, n: int, input: Any) -> None:
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {sizes_text(input.shape)}"
        )


def _run(name: str, n: int, input: Any, weight: Any, bias: Any, settings: Any) -> Any:
    _check_dims(name, n, input)
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    batched = input.dim() == n + 2
    x = input if batched else input.unsqueeze(0)
    y = aten.convolution(x, weight, bias, *settings)
    return y if batched else y.squeeze(0)


def _declare(n: int) -> None:
    ones, zeros = sizes_text([1] * n), sizes_text([0] * n)
    kernel = f"slow_conv{max(n, 2)}d_cpu"

    @composite(
        f"conv{n}d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride={ones}, SymInt[{n}] padding={zeros}, SymInt[{n}] dilation={ones}, SymInt groups=1) -> Tensor",
        method=False, autocast="lower_precision", refuses=(("b", kernel),))  # fmt: skip
    def conv(input, weight, bias, stride, padding, dilation, groups):
        return _run(f"conv{n}d", n, input, weight, bias, (stride, padding, dilation, False, (0,) * n, groups))

    @composite(
        f'conv{n}d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride={ones}, str padding="valid", SymInt[{n}] dilation={ones}, SymInt groups=1) -> Tensor',
        method=False, autocast="lower_precision", refuses=(("b", kernel),))  # fmt: skip
    def conv_named(input, weight, bias, stride, padding, dilation, groups):
        _check_dims(f"conv{n}d", n, input)
        if padding == "valid":
            pads = (0,) * n
        elif padding == "same":
            if any(s != 1 for s in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            if len(weight.shape) != n + 2:
                raise RuntimeError(
                    f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight"
                    f"{sizes_text(weight.shape)}, but got {input.dim()}-dimensional input of size {sizes_text(input.shape)} instead"
                )
            if groups <= 0:
                raise RuntimeError("non-positive groups is not supported")
            total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
            pads = tuple(t // 2 for t in total)
            odd = [x for t in reversed(total) for x in (0, t % 2)]
            input = torch.constant_pad_nd(input, odd) if any(odd) else input
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        return _run(f"conv{n}d", n, input, weight, bias, (stride, pads, dilation, False, (0,) * n, groups))

    overload = "" if n == 1 else ".input"

    @composite(
        f"conv_transpose{n}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride={ones}, SymInt[{n}] padding={zeros}, SymInt[{n}] output_padding={zeros}, SymInt groups=1, SymInt[{n}] dilation={ones}) -> Tensor",
        method=False, autocast="lower_precision", refuses=(("bm", f"slow_conv_transpose{max(n, 2)}d_out_cpu"),))  # fmt: skip
    def conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        settings = (stride, padding, dilation, True, output_padding, groups)
        return _run(f"conv_transpose{n}d", n, input, weight, bias, settings)


for _n in (1, 2, 3):
    _declare(_n)


@composite(
    "slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0) -> Tensor",
    function=False, method=False)  # fmt: skip
def slow_conv3d(self, weight, kernel_size, bias, stride, padding):
    """Convolution of (N, C, D, H, W) without dilation or groups."""
    return _run("slow_conv3d", 3, self, weight, bias, (stride, padding, (1, 1, 1), False, (0, 0, 0), 1))


@composite("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", gradient_name=True, method=False)
def conv_tbc(self, weight, bias, pad):
    """Convolution of (time, batch, channels) with (kernel, in, out)."""
    x, w = self.permute(1, 2, 0), weight.permute(2, 1, 0)
    y = aten.convolution(x, w, bias, (1,), (pad,), (1,), False, (0,), 1)
    return y.permute(2, 0, 1).contiguous()
