"""Calls of the wide CPU benchmark: networks for images, the depthwise convolutions in them, and gradients of single samples."""

from __future__ import annotations

from typing import Any

from gpu_cases_resnet import resnet18
from side_by_side import Cases

STAGES = ((96, 56), (192, 28), (384, 14), (768, 7))  # channels and pixels of ConvNeXt's stages for images of 224 x 224


def depthwise_cases(torch: Any) -> Cases:
    """One kernel a channel, forward and both gradients."""
    found: Cases = {}
    for (channels, size), kernel, stride in [
        *((stage, 7, 1) for stage in STAGES),
        *(((channels, size), 3, stride) for channels, size in STAGES[::3] for stride in (1, 2)),
        ((128, 28), 5, 2),
    ]:
        x, w = torch.randn(4, channels, size, size), torch.randn(channels, 1, kernel, kernel) / kernel
        settings = ([stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], channels)
        g = torch.randn_like(torch.convolution(x, w, None, *settings))
        name = f"depthwise {kernel}x{kernel}, {stride}, 4x{channels}x{size}x{size}"

        def forward(x: Any = x, w: Any = w, settings: Any = settings) -> Any:
            return torch.convolution(x, w, None, *settings)

        def backward(mask: list[bool], g: Any = g, x: Any = x, w: Any = w, settings: Any = settings) -> Any:
            return torch.ops.aten.convolution_backward(g, x, w, None, *settings, mask)

        found[name] = forward
        found[f"{name} grad image"] = lambda of=backward: of([True, False, False])
        found[f"{name} grad weight"] = lambda of=backward: of([False, True, False])
    return found


def convnext_block(torch: Any, channels: int) -> Any:
    """Liu and others, A ConvNet for the 2020s (2022): a depthwise convolution, and two layers for each pixel."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.spread = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
            self.norm = nn.LayerNorm(channels, eps=1e-6)
            self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
            self.scale = nn.Parameter(torch.full((channels,), 1e-6))

        def forward(self, x: Any) -> Any:
            y = self.norm(self.spread(x).permute(0, 2, 3, 1))
            y = self.scale * self.down(nn.functional.gelu(self.up(y)))
            return x + y.permute(0, 3, 1, 2)

    return Block()


def convnext(torch: Any, depths: tuple[int, ...] = (3, 3, 9, 3)) -> Any:
    """ConvNeXt-T by default."""
    nn = torch.nn
    layers: list[Any] = [nn.Conv2d(3, STAGES[0][0], 4, 4), nn.GroupNorm(1, STAGES[0][0])]
    for i, depth in enumerate(depths):
        channels = STAGES[i][0]
        if i:
            layers += [nn.GroupNorm(1, channels // 2), nn.Conv2d(channels // 2, channels, 2, 2)]
        layers += [convnext_block(torch, channels) for _ in range(depth)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(STAGES[-1][0], 1000))


def network_cases(torch: Any) -> Cases:
    """Inference of networks and of a block at each size, and a block's training step."""
    found: Cases = {}

    def inference(model: Any, *shape: int) -> Any:
        model, images = model.eval(), torch.randn(*shape)

        def call() -> Any:
            with torch.no_grad():
                return model(images)

        return call

    for channels, size in STAGES:
        block, images = convnext_block(torch, channels), torch.randn(2, channels, size, size, requires_grad=True)
        found[f"ConvNeXt block {channels}x{size}x{size}"] = inference(block, 2, channels, size, size)
        found[f"ConvNeXt block {channels}x{size}x{size} gradients"] = lambda block=block, images=images: (
            torch.autograd.grad(block(images).square().mean(), [images, *block.parameters()])
        )
    found["ConvNeXt-T inference, batch 1"] = inference(convnext(torch), 1, 3, 224, 224)
    found["ConvNeXt-T inference, 64x64, batch 4"] = inference(convnext(torch), 4, 3, 64, 64)
    for batch in (1, 4):
        found[f"resnet18 inference, batch {batch}"] = inference(resnet18(torch), batch, 3, 224, 224)
    found["resnet18 inference, 64x64, batch 4"] = inference(resnet18(torch), 4, 3, 64, 64)
    return found


def sample_gradient_cases(torch: Any) -> Cases:
    """The gradient of every sample, vmap of grad."""
    nn, functional = torch.nn, torch.nn.functional
    models = {
        "MLP 64-128-10": (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), (64,)),
        "CNN 28x28": (
            nn.Sequential(
                nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                nn.Flatten(), nn.Linear(800, 10),
            ),
            (1, 28, 28),
        ),
    }  # fmt: skip
    found: Cases = {}
    for name, (model, shape) in models.items():
        parameters = {k: p.detach() for k, p in model.named_parameters()}

        def loss(parameters: Any, x: Any, label: Any, model: Any = model) -> Any:
            out = torch.func.functional_call(model, parameters, (x[None],))
            return functional.cross_entropy(out, label[None])

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
        for batch in (16, 64):
            x, labels = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
            found[f"{batch} samples' gradients, {name}"] = lambda each=each, p=parameters, x=x, labels=labels: each(
                p, x, labels
            )
    return found


def channels_last_cases(torch: Any) -> Cases:
    """What networks do with pictures in channels_last, and the gradients."""
    functional = torch.nn.functional
    x = torch.randn(2, 64, 56, 56).to(memory_format=torch.channels_last).requires_grad_()
    weight = torch.ones(64)
    calls = {
        "avg_pool2d": lambda: functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        "max_pool2d": lambda: functional.max_pool2d(x, 3, 2, 1),
        "adaptive_avg_pool2d": lambda: functional.adaptive_avg_pool2d(x, (3, 2)),
        "interpolate nearest": lambda: functional.interpolate(x, scale_factor=2),
        "interpolate bilinear": lambda: functional.interpolate(x, scale_factor=2, mode="bilinear"),
        "pad": lambda: functional.pad(x, (1, 1, 1, 1)),
        "pad reflect": lambda: functional.pad(x, (1, 1, 1, 1), mode="reflect"),
        "mean over places": lambda: x.mean((2, 3)),
        "batch_norm": lambda: functional.batch_norm(x, None, None, weight, weight, True),
        "group_norm": lambda: functional.group_norm(x, 4, weight, weight),
    }
    found: Cases = {}
    for name, call in calls.items():
        g = torch.randn_like(call())

        def forward(call: Any = call) -> Any:
            with torch.no_grad():
                return call()

        found[f"channels_last {name}"] = forward
        found[f"channels_last {name} and gradient"] = lambda call=call, g=g: torch.autograd.grad(call(), x, g)
    return found


def image_cases(torch: Any) -> Cases:
    """All of them."""
    return {
        **depthwise_cases(torch),
        **network_cases(torch),
        **channels_last_cases(torch),
        **sample_gradient_cases(torch),
    }
