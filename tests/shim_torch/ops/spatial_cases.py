"""Pooling and resampling."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    names = {"x1": (2, 3, 7), "x2": (2, 3, 6, 5), "x3": (1, 2, 4, 5, 3), "s": (1, 8, 2, 3), "u": (1, 2, 4, 6)}
    made = {n: pattern(torch, *s, seed=i).requires_grad_() for i, (n, s) in enumerate(names.items())}
    made["grid"] = (pattern(torch, 2, 3, 4, 2, seed=9) * 0.7).requires_grad_()
    made["grid3"] = (pattern(torch, 1, 2, 2, 3, 3, seed=10) * 0.7).requires_grad_()
    made["theta"] = pattern(torch, 2, 2, 3, seed=11).requires_grad_()
    made["theta3"] = pattern(torch, 1, 3, 4, seed=12).requires_grad_()
    holes = pattern(torch, 1, 1, 4, 4, seed=3)
    holes[0, 0, 1, 1] = float("nan")
    return {**made, "torch": torch, "F": torch.nn.functional, "nan": holes, "nn": torch.nn}


_RESAMPLED = [
    f"F.interpolate({x}, {size}, mode='{mode}'{more})"
    for x, size, modes in (
        ("x1", "4", ("nearest", "linear", "area", "nearest-exact")),
        ("x1", "scale_factor=1.7", ("nearest", "linear", "nearest-exact")),
        ("x2", "(3, 8)", ("nearest", "bilinear", "bicubic", "area", "nearest-exact")),
        ("x2", "scale_factor=(2, 0.6)", ("nearest", "bilinear", "bicubic")),
        ("x3", "(2, 6, 4)", ("nearest", "trilinear", "area")),
    )
    for mode in modes
    for more in (("", ", align_corners=True") if "linear" in mode or mode == "bicubic" else ("",))
] + [
    f"F.interpolate(u, {size}, mode='{mode}', antialias=True)"
    for size in ("(2, 3)", "(7, 5)")
    for mode in ("bilinear", "bicubic")
]
_SAMPLED = [
    f"F.grid_sample({x}, {g}, '{mode}', '{padding}', {aligned})"
    for x, g, modes in (("x2", "grid", ("bilinear", "nearest", "bicubic")), ("x3", "grid3", ("bilinear", "nearest")))
    for mode in modes
    for padding in ("zeros", "border", "reflection")
    for aligned in (False, True)
]
_REST = """
F.max_pool1d(x1, 3)
F.max_pool1d(x1, 2, 1, 1, 2, True, return_indices=True)
F.max_pool2d(x2, 2)
F.max_pool2d(x2, (2, 3), (2, 1), (1, 1))
F.max_pool2d(x2, 3, 2, 1, ceil_mode=True, return_indices=True)
F.max_pool2d(x2[0], 2, dilation=2, return_indices=True)
F.max_pool2d(nan, 2, 1, return_indices=True)
F.max_pool2d(x2.to(torch.bfloat16), 2)
F.max_pool2d(torch.arange(16).reshape(1, 4, 4), 2, return_indices=True)
F.max_pool3d(x3, 2, 1, return_indices=True)
F.max_pool3d(x3, (2, 3, 1), stride=(1, 2, 1))
F.avg_pool1d(x1, 3)
F.avg_pool1d(x1, 3, 2, 1, True, False)
F.avg_pool2d(x2, 2)
F.avg_pool2d(x2, (3, 2), (2, 1), 1)
F.avg_pool2d(x2, 3, 2, 1, True, False)
F.avg_pool2d(x2, 3, 2, 1, True, True)
F.avg_pool2d(x2, 3, divisor_override=4)
F.avg_pool2d(x2[0].half(), 2)
F.avg_pool3d(x3, 2, 2, 1, True, False)
F.avg_pool3d(x3, (2, 1, 3), 1)
F.lp_pool1d(x1.abs(), 3, 2)
F.lp_pool2d(x2, 2, 3, 2)
F.lp_pool3d(x3, 2, 2)
F.adaptive_avg_pool1d(x1, 3)
F.adaptive_avg_pool2d(x2, 1)
F.adaptive_avg_pool2d(x2, (4, None))
F.adaptive_avg_pool2d(x2, (7, 3))
F.adaptive_avg_pool2d(x2.to(torch.bfloat16), (4, 3))
F.adaptive_avg_pool3d(x3, (2, 3, 3))
F.adaptive_max_pool1d(x1, 3, True)
F.adaptive_max_pool2d(x2, (4, 2))
F.adaptive_max_pool2d(x2[0], (None, 3), True)
F.adaptive_max_pool3d(x3, 2, True)
F.max_unpool1d(*F.max_pool1d(x1, 2, return_indices=True), 2)
F.max_unpool2d(*F.max_pool2d(x2, 2, return_indices=True), 2, output_size=(6, 5))
F.max_unpool3d(*F.max_pool3d(x3[..., :4, :2], 2, return_indices=True), 2)
F.local_response_norm(x2, 2)
F.local_response_norm(x1, 3, 0.5, 0.6, 2.0)
F.pixel_shuffle(s, 2)
F.pixel_unshuffle(u, 2)
torch.channel_shuffle(s, 4)
F.affine_grid(theta, (2, 3, 4, 5), align_corners=False)
F.affine_grid(theta, (2, 3, 1, 4), align_corners=True)
F.affine_grid(theta3, (1, 1, 2, 3, 2), align_corners=False)
F.interpolate(x2.to(torch.bfloat16), (4, 3), mode='bilinear')
F.interpolate(x2.to(torch.bfloat16), (4, 3))
F.interpolate(x2.double(), scale_factor=1.5, mode='bicubic', recompute_scale_factor=True)
torch.autograd.grad(F.interpolate(x2, (4, 3), mode='bilinear').square().sum(), [x2], create_graph=True)
torch.autograd.grad(F.max_pool2d(x2, 2).square().sum(), [x2], create_graph=True)
torch.autograd.grad(F.avg_pool2d(x2, 2).square().sum(), [x2], create_graph=True)
nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())(x2)
nn.Upsample(scale_factor=2)(x1)
nn.MaxPool2d(3, 2, return_indices=True)(x2)
F.max_pool2d(x2, 9)
F.max_pool2d(x2, 2, padding=2)
F.max_pool2d(x1[0], 2)
F.max_pool1d(x1[0, 0], 2)
F.max_pool1d(x1, 9)
F.max_pool3d(x2[0], 2)
F.max_pool2d(x2, 2, stride=0)
F.max_pool2d(x2, 2, dilation=0)
F.max_pool2d(x2[:, :, :0], 2)
F.max_pool2d(x2, (2, 2, 2))
F.max_pool2d(x2 > 0, 2)
F.avg_pool2d(x2, 9)
F.avg_pool2d(x2, 2, divisor_override=0)
F.avg_pool2d(x1[0], 2)
F.avg_pool1d(x1[0, 0], 2)
F.avg_pool1d(x1, 9)
F.avg_pool3d(x2[0], 2)
F.adaptive_avg_pool2d(x1[0], 2)
F.adaptive_avg_pool1d(x1[0, 0], 2)
F.adaptive_avg_pool2d(x2, -1)
F.adaptive_max_pool2d(x1[0], 2)
F.adaptive_max_pool2d(x2[:, :, :0], 2)
F.max_unpool2d(x2, x2, 2)
F.interpolate(x2)
F.interpolate(x2, 2, 2)
F.interpolate(x2, 2, mode='foo')
F.interpolate(x2, (2, 2, 2))
F.interpolate(x2, 2, mode='linear')
F.interpolate(x1, 2, mode='bilinear')
F.interpolate(x1, 2, align_corners=True)
F.interpolate(x1[0], 2)
F.interpolate(x2, 0)
F.interpolate(x2, scale_factor=(2, 3, 4))
F.grid_sample(x2[:1], grid)
F.grid_sample(x2, grid3)
F.grid_sample(x2, grid, mode='foo')
F.grid_sample(x2, grid, padding_mode='foo')
F.grid_sample(x2, grid.double())
F.affine_grid(theta, (2, 3, 4))
F.affine_grid(theta, (2, 3, 4, 4, 4))
F.affine_grid(theta.long(), (2, 3, 4, 4))
F.pixel_shuffle(x2, 2)
F.pixel_shuffle(x2[0, 0], 2)
F.pixel_shuffle(s, 0)
F.pixel_unshuffle(x2, 2)
F.pixel_unshuffle(s, -1)
torch.channel_shuffle(x2, 2)
torch.channel_shuffle(x2, 0)
"""
CASES = [*_RESAMPLED, *_SAMPLED, *_REST.strip().splitlines()]
