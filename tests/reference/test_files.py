"""Files of torch.save: ours read by PyTorch, PyTorch's read here."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import shim_torch as torch

PYTHON = os.environ.get("SHIM_TORCH_REFERENCE_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="no PyTorch to exchange files with: run make test-reference")

WRITE = """
import sys, torch
from collections import OrderedDict
base = torch.arange(12.0).reshape(3, 4)
dtypes = [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.uint16]
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.GELU(), torch.nn.Linear(2, 2))
adam = torch.optim.AdamW(model.parameters(), lr=0.1)
model(torch.ones(1, 1, 4, 4))[:, :, :, :].sum().backward()
adam.step()
torch.save({
    "view": base.t()[1:, ::2], "base": base, "state": model.state_dict(), "optimizer": adam.state_dict(), "model": model,
    **{str(d): torch.tensor([0, 1, 2]).to(d) for d in dtypes},
    "parameter": torch.nn.Parameter(torch.ones(2), requires_grad=False), "size": torch.Size([2, 3]), "ordered": OrderedDict(a=1),
}, sys.argv[1])
"""
READ = """
import json, sys, torch
found = torch.load(sys.argv[1], weights_only=False)
assert found["view"].untyped_storage().data_ptr() == found["base"].untyped_storage().data_ptr()
weight = found["model"][0].weight
print(json.dumps({
    "view": found["view"].tolist(), "strides": list(found["view"].stride()), "size": list(found["size"]),
    "dtypes": {k: [str(v.dtype), v.to(torch.complex64).real.tolist()] for k, v in found.items() if k.startswith("torch.")},
    "state": {k: v.double().reshape(-1).tolist() for k, v in found["state"].items()},
    "metadata": {k: v.get("version") for k, v in found["state"]._metadata.items()},
    "moment": found["optimizer"]["state"][0]["exp_avg"].double().reshape(-1).tolist(),
    "groups": found["optimizer"]["param_groups"][0]["lr"], "parameter": [type(found["parameter"]).__name__, found["parameter"].requires_grad],
    "model": found["model"].eval()(torch.ones(1, 1, 4, 4)).detach().double().reshape(-1).tolist(),
}, sort_keys=True))
"""


def _pytorch(code: str, path: str) -> str:
    done = subprocess.run([PYTHON, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _here(code: str, path: str, capsys: pytest.CaptureFixture[str]) -> str:
    import sys

    old = sys.argv
    sys.argv = ["-c", path]
    try:
        exec(
            code.replace("import sys, torch", "import sys").replace("import json, sys, torch", "import json, sys"),
            {"torch": torch},
        )
    finally:
        sys.argv = old
    return capsys.readouterr().out


@pytest.mark.parametrize("writer", ["pytorch", "here"])
def test_both_read_the_same(writer, tmp_path, capsys):
    path = str(tmp_path / "file.pt")
    if writer == "pytorch":
        _pytorch(WRITE, path)
    else:
        _here(WRITE, path, capsys)
    theirs, mine = json.loads(_pytorch(READ, path)), json.loads(_here(READ, path, capsys))
    assert mine.pop("model") == pytest.approx(theirs.pop("model"), rel=1e-4, abs=1e-5)
    assert mine == theirs
