"""The settings of PyTorch's compiler, with their defaults."""

import importlib
import json
import os
import warnings

MODULES = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config")
THREADS = 2  # compile_threads: else the processors of the machine that writes the table


def _is_plain(value):
    """Whether JSON holds the value, and it names no folder of this machine."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float)) or isinstance(value, str) and not os.path.isabs(value)


def defaults():
    """By module and name; a setting that only stands for another is left out."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(THREADS)
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deprecated settings
            values = {
                key: getattr(module, key)
                for key, entry in sorted(module._config.items())
                if entry.alias is None and key != "TYPE_CHECKING"
            }
        found[name] = {key: value for key, value in values.items() if _is_plain(value)}
    return json.dumps(found, indent=0, sort_keys=True) + "\n"


FILES = {"shim_torch/_impl/data/compile_settings.json": defaults}
