"""A residual network of 18 layers for images of 224 x 224, for benchmarks/gpu_eager.py: inference and training in eager mode."""

from __future__ import annotations

from typing import Any

from gpu_cases_backward import Case
from gpu_cases_training import trained


def resnet18(torch: Any, classes: int = 1000) -> Any:
    """He and others, Deep Residual Learning (2015): 4 stages of 2 blocks of two 3x3 convolutions, 64 to 512 channels."""
    nn, functional = torch.nn, torch.nn.functional

    def convolution(inputs: int, outputs: int, size: int, stride: int) -> Any:
        return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first, self.second = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
            self.shortcut: Any = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norms[0](self.first(x)), inplace=True)
            return functional.relu(self.norms[1](self.second(y)) + self.shortcut(x), inplace=True)

    stages = [
        Block(inputs if k == 0 else outputs, outputs, stride if k == 0 else 1)
        for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
        for k in range(2)
    ]
    stem = [convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def residual_networks(torch: Any) -> dict[str, Case]:
    """Batches of 1 and of 10, float32 and under autocast to bfloat16."""
    found: dict[str, Case] = {}
    for batch in (1, 10):
        images, labels = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (batch,), device="cuda")
        model = resnet18(torch).cuda().eval()

        def inference(model: Any = model, images: Any = images) -> None:
            with torch.no_grad():
                model(images)

        def loss(out: Any, labels: Any = labels) -> Any:
            return torch.nn.functional.cross_entropy(out, labels)

        found[f"resnet18 inference, batch {batch}"] = inference
        found[f"resnet18 step SGD, batch {batch}"] = trained(torch, resnet18(torch), images, loss, "SGD")
        found[f"resnet18 step SGD autocast, batch {batch}"] = trained(
            torch, resnet18(torch), images, loss, "SGD", amp=True
        )
    return found
