"""``torch.nn.parallel._functions``: broadcasting and gathering as parts of the graph."""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.function import Function


def on_device(x: Any, device: Any) -> Any:
    """A copy on a device, where it is there already an alias of its memory."""
    import shim_torch as torch

    place = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    return x.detach() if x.device == place else x.to(place)


class Broadcast(Function):
    """Copies of tensors on every device (aliases where they are); the gradients of the copies are summed."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Any) -> Any:
        """Copies of the inputs on each of ``target_gpus``, device by device."""
        ctx.num_inputs = len(inputs)
        ctx.devices = [x.device for x in inputs]
        copies = [on_device(x, device) for device in target_gpus for x in inputs]
        ctx.mark_non_differentiable(
            *(
                copies[d * len(inputs) + i]
                for i in range(len(inputs))
                if not ctx.needs_input_grad[i + 1]
                for d in range(len(target_gpus))
            )
        )
        return tuple(copies)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The sums of the copies' gradients, each on its input's device."""
        sums = []
        for i, device in enumerate(ctx.devices):
            total = None
            for g in grads[i :: ctx.num_inputs]:
                total = g.to(device) if total is None else total + g.to(device)
            sums.append(total)
        return (None, *sums)
