"""The layers of ``torch.nn``."""

from importlib import import_module
from typing import Any

from shim_torch._impl.nn.modules import attention, spatial
from shim_torch.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    instancenorm,
    lazy,
    linear,
    loss,
    module,
    normalization,
    padding,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)
from shim_torch.nn.modules.module import Module

pooling = pixelshuffle = channelshuffle = fold = distance = spatial

activation.MultiheadAttention = attention.MultiheadAttention  # type: ignore[attr-defined]
activation.NonDynamicallyQuantizableLinear = linear.NonDynamicallyQuantizableLinear  # type: ignore[attr-defined]

_LAYERS: dict[str, type[Module]] = {
    name: value
    for source in (
        activation,
        container,
        conv,
        dropout,
        linear,
        loss,
        normalization,
        batchnorm,
        instancenorm,
        rnn,
        sparse,
        spatial,
        padding,
        upsampling,
        flatten,
        adaptive,
        attention,
        transformer,
        lazy,
    )
    for name, value in vars(source).items()
    if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")
}


def _present(layer: type[Module], home: str) -> None:
    """Gives a class PyTorch's module name. Its annotations become objects: the names in them would be looked up there."""
    if layer.__module__.startswith("torch."):
        return  # under another name already
    names = vars(import_module(layer.__module__))
    if annotations := layer.__dict__.get("__annotations__"):
        layer.__annotations__ = {k: eval(v, names) if isinstance(v, str) else v for k, v in annotations.items()}
    layer.__module__ = f"torch.nn.modules.{home}"


# Layers that PyTorch keeps in other files than ours; checkpoints of whole models name them by file.
_ELSEWHERE = {
    **dict.fromkeys("Fold Unfold".split(), "fold"),
    **dict.fromkeys("PixelShuffle PixelUnshuffle".split(), "pixelshuffle"),
    **dict.fromkeys("CosineSimilarity PairwiseDistance".split(), "distance"),
    "MultiheadAttention": "activation",
    "ChannelShuffle": "channelshuffle",
}


def _home(name: str, layer: type[Module]) -> str:
    name = name.removeprefix("Lazy")
    if name.startswith("Conv"):
        return "conv"
    if name == "Linear":
        return "linear"
    for kind in ("BatchNorm", "InstanceNorm"):
        if name.startswith(kind):  # the lazy ones are of their file too
            return kind.lower()
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if "pool" in name.lower():
        return "pooling"
    found = layer.__module__.rpartition(".")[2]
    return {"simple_layers": "activation", "parameter_containers": "container", "recurrent_cells": "rnn"}.get(
        found, found
    )


for _name, _layer in _LAYERS.items():
    _present(_layer, _home(_name, _layer))
del _LAYERS["NonDynamicallyQuantizableLinear"]  # PyTorch has it in its file only
globals().update(_LAYERS)
__all__ = ["Module", *sorted(_LAYERS)]
_ = (utils, module)
del _


def __getattr__(name: str) -> Any:
    if name == "LinearCrossEntropyOptions":
        from shim_torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

        LinearCrossEntropyOptions.__module__ = "torch.nn.modules.linear_cross_entropy_options"
        return LinearCrossEntropyOptions
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.modules", name)
