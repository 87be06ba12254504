"""What kernels leave to operators' bodies they say why (native/src/ops/kernel.h): torch_proxy_status() counts the reasons."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "native" / "src"
# Of a parameter: it takes no value, and neither it nor the one that it asks says why.
UNSAID = r"^(?!.*(\*why\b|\br\.why\b|\b(take|one)\(|bool \w+ =)).*\bfalse;"
NO_REASON = r"NotMine\{\s*(\"\"|nullptr)?\s*\}"


def without_reason(name: str, text: str) -> list[int]:
    """The numbers of the lines that decline without one; kAnothers, of ops/kernel.h, is for what is another kernel's."""
    patterns = [NO_REASON] if name != "kernel.h" else []
    if re.search(r"parameters?\.h$", name):
        patterns.append(UNSAID)
    return [n for n, line in enumerate(text.splitlines(), 1) if any(re.search(p, line) for p in patterns)]


def test_every_decline_has_a_reason():
    if not SOURCE.exists():
        pytest.skip("there is no source tree")
    places = (SOURCE / f for f in ("cpu", "cuda", "gemm", "kernels", "linalg", "ops", "autograd"))
    files = [f for place in places for f in sorted(place.rglob("*.*"))]
    assert {str(f): found for f in files if (found := without_reason(f.name, f.read_text()))} == {}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("rows.cpp", 'if (!where) return NotMine{""};'),
        ("sort.cpp", "return NotMine{};"),
        ("parameter.h", "return false;"),
    ],
)
def test_a_decline_without_a_reason_is_found(name, line):
    assert without_reason(name, f"\n{line}\n") == [2]
    assert without_reason(name, '\nreturn NotMine{"a dim other than the last"};\n') == []
