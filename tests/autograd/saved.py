"""Which tensors an operator keeps for backward: what may be written to after it, as PyTorch allows.

``tools/regenerate.py`` writes what PyTorch refuses.
"""

import json
import re
import warnings

from gradient_samples import SAMPLES, inputs

# Layers whose CUDA forms are kernels of their own.
LAYERS = (
    "F.cross_entropy(m, torch.arange(3))",
    "F.cross_entropy(m, torch.arange(3), label_smoothing=0.1)",
    "F.cross_entropy(m, torch.arange(3), m.detach()[0].abs(), reduction='sum')",
    "F.nll_loss(m, torch.arange(3))",
    "F.linear(m, m)",
    "F.linear(n, m)",
    "F.layer_norm(m, (4,), m[0], m[1])",
    "F.rms_norm(m, (4,), m[0])",
    "F.group_norm(x, 2, d.reshape(2), d.reshape(2))",
    "F.embedding(torch.arange(2), m)",
    "F.gelu(m)",
    "F.gelu(m, approximate='tanh')",
    "F.silu(m)",
    "F.relu(m)",
    "F.relu(m) * 2",
    "F.dropout(m, 0.5)",
    "m.softmax(-1)",
    "m.log_softmax(-1)",
    "m.max(1)[0]",
    "m.cumsum(0)",
    "m[torch.arange(2)]",
    "torch.cat([m, m])",
    "m.var(1)",
    "F.scaled_dot_product_attention(n, n, n)",
    "F.mse_loss(m, m.detach().flip(0))",
    "F.binary_cross_entropy_with_logits(m, m.detach().sigmoid())",
    "F.kl_div(m.log_softmax(1), m.detach().softmax(0))",
)
CASES = [*LAYERS, *(e for all_of_it in SAMPLES.values() for e in all_of_it)]


def _tensors(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for x in value for t in _tensors(torch, x)] if isinstance(value, (list, tuple)) else []


def may_write(torch, expression, device):
    """By name of an input, and for "out": whether backward works after the tensor was written to; None where it could not be written."""
    values = {
        n: t.to(device) if isinstance(t, torch.Tensor) else t
        for n, t in {**inputs(torch), "F": torch.nn.functional}.items()
    }
    names = [
        n
        for n, t in values.items()
        if isinstance(t, torch.Tensor)
        and (t.is_floating_point() or t.is_complex())
        and re.search(rf"(?<![\w.'\"]){n}(?![\w'\"=(])", expression)
    ]
    found = {}
    for written in [*names, "out"]:
        inner = {n: values[n].detach().clone().requires_grad_() * 1 for n in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out = [t for t in _tensors(torch, eval(expression, {**values, **inner})) if t.requires_grad]
                total = sum(t.clone().abs().sum() for t in out)
                for t in out if written == "out" else [inner[written]]:
                    t.mul_(1)
            except Exception:  # of one that cannot be written in place: a leaf's view, several views of one tensor
                found[written] = None
                continue
            try:
                total.backward()
                found[written] = True
            except RuntimeError as error:
                found[written] = False if "modified by an inplace operation" in str(error) else None
    return found


def written(torch):
    """By expression the names of what may not be written to with PyTorch, to be stored."""
    answers = {e: may_write(torch, e, "cpu") for e in CASES}
    refused = {e: [n for n, ok in a.items() if ok is not True] for e, a in answers.items()}
    return json.dumps({e: names for e, names in refused.items() if names}, indent=1) + "\n"
