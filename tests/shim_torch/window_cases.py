"""Windows of torch.signal: each name with sizes, symmetric and periodic."""

import json

NAMES = ("bartlett", "blackman", "cosine", "exponential", "gaussian", "hamming", "hann", "kaiser", "nuttall")
CASES = [f"{name} {size} {symmetric}" for name in NAMES for size in (0, 1, 2, 5, 8) for symmetric in (True, False)]
CASES.append("kaiser 6 True 3.0")


def window(windows, case):
    """The window of a case; its last word is Kaiser's beta."""
    name, size, symmetric, *beta = case.split()
    return getattr(windows, name)(int(size), sym=symmetric == "True", **({"beta": float(beta[0])} if beta else {}))


def written(torch):
    """The elements that PyTorch gives, to be stored."""
    found = {case: [round(x, 5) for x in window(torch.signal.windows, case).tolist()] for case in CASES}
    return json.dumps(found, indent=0) + "\n"
