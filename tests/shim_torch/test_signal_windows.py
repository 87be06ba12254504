"""torch.signal.windows against the elements that PyTorch 2.13 gave (data/windows.json)."""

import json
from pathlib import Path

import numpy as np
import pytest
from window_cases import CASES, window

from shim_torch.signal import windows

WINDOWS = json.loads((Path(__file__).parent / "data" / "windows.json").read_text())


@pytest.mark.usefixtures("device")
@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("case", CASES)
def test_windows(case):
    np.testing.assert_allclose(window(windows, case).cpu().numpy(), WINDOWS[case], atol=2e-5)
