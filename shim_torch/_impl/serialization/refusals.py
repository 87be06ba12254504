"""What ``torch.load`` says of files that it refuses."""

from __future__ import annotations

import re

UNSAFE = (
    "Weights only load failed. {advice}\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


ADVICE = (
    "This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you trust the source of the "
    "checkpoint\033[0m. \n\t(1) {refused}\n\t(2) Alternatively, to load with "
    "`weights_only=True` please check the recommended steps in the following error message.\n\tWeightsUnpickler error: {why}"
)


REFUSED = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only "
    "if you got the file from a trusted source."
)


def advice(why: str) -> str:
    """What may be done about a file that ``weights_only`` refuses."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default\.", why):
        return ADVICE.format(refused=REFUSED, why=why)
    if re.search(r"(\S+) must be (\S+) to load", why):
        return f"{why}\n {REFUSED}\n"
    blocked = re.search(r"whose module (\S+) is blocked", why)
    please = (
        "Please file an issue with the following so that we can make `weights_only=True` compatible with your use case: "
        "WeightsUnpickler error: "
    )
    return f"{REFUSED}\n{'' if blocked else please}\n\n{why}"
