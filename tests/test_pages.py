"""README and the pages of docs/: their links lead somewhere, the paths they name exist, the picture is of the committed results."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OF_OTHERS = "libraries.md"  # names paths of the libraries' own repositories

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no source tree")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """What GitHub calls a page's headings: small letters, no punctuation, hyphens for spaces."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path, text: str) -> list[str]:
    """The links of a text to files and headings that are not there; those to other sites are not followed."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+://|mailto:", link):
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert broken(page, prose(page)) == []


def test_links_that_lead_nowhere_are_found():
    page = ROOT / "README.md"
    text = "[a](docs/scope.md#limits) [b](docs/nothing.md) [c](docs/scope.md#nothing) [d](https://x.org/y) ![e](docs/none.svg) [f](#more)"
    assert broken(page, text) == ["docs/nothing.md", "docs/scope.md#nothing", "docs/none.svg"]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != OF_OTHERS], ids=lambda page: page.name)
def test_paths_in_code_exist(page):
    """`shim_torch/_impl/table/`, `tests/gpu` and their like; what a build makes is left out."""
    folders = "|".join(
        place.name for place in ROOT.iterdir() if place.is_dir() and re.match(r"(?!build|dist)\w", place.name)
    )
    named = re.findall(rf"`((?:{folders})/[\w./\-]*)", prose(page))
    built = ("shim_torch/_impl/native/lib", "shim_torch/_impl/native/_core")
    assert [path for path in named if not path.startswith(built) and not (ROOT / path).exists()] == []


def test_every_page_is_reached_from_the_readme():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            links = re.findall(r"\]\(([^)#\s]+)", prose(page))
            todo += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert set(PAGES) <= reached


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130 and len(text.split()) <= 900


def chart() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed_chart", ROOT / "benchmarks" / "speed_chart.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_of_the_committed_results():
    made = chart()
    assert made.PICTURE.read_text(encoding="utf-8") == made.picture(), "run python benchmarks/speed_chart.py"


def test_the_picture_shows_the_numbers_of_its_files():
    made = chart()
    gpu, cpu = ((made.RESULTS / name).read_text(encoding="utf-8") for name in (made.GPU, made.CPU))
    table = made.gpu_table(gpu)
    assert f"PyTorch's {len(table)} calls" in gpu and table["step language model"] == (0.50, 0.40)
    changed = gpu.replace("1753.68  3533.84    0.50", "1753.68  3533.84    0.37")
    assert changed != gpu and made.draw(changed, cpu) != made.draw(gpu, cpu)
    assert set(made.cpu_means(cpu)) == set(made.CPU_ROWS)
    assert made.place(1 / 16) == made.LEFT and made.place(8) == made.WIDTH - made.RIGHT
    assert made.place(0.5) - made.place(0.25) == pytest.approx(made.place(2) - made.place(1))
    assert made.geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1)


# Rows of the tables of speed -> the case of the GPU's results that they show.
CASES = {
    "training step of a small language model": "step language model",
    "the same with autocast": "step language model autocast",
    "training step of a perceptron with AdamW": "step MLP AdamW",
    "training step of a small convolutional net": "step convolutions",
    "training step of a `TransformerEncoderLayer`": "step TransformerEncoderLayer",
    "`add`, 1,024 numbers": "b:add 1024",
    "`torch.empty`": "b:empty 1024",
    "Triton launch, grid a tuple": "b:Triton launch, tuple grid",
    "Triton launch": "b:Triton launch, tuple grid",
    "Triton launch, grid a function": "b:Triton launch, lambda grid",
    "Liger RMSNorm, forward, 16x1024": "b:Liger RMSNorm fwd 16x1024",
    "Liger RMSNorm, forward and backward, 2048x4096": "b:Liger RMSNorm fwd+bwd 2048x4096",
    "Liger RMSNorm forward and backward, 2048x4096": "b:Liger RMSNorm fwd+bwd 2048x4096",
    "AdamW over 32 tensors of 256x1024": "AdamW step, 32 x 256x1024",
}


def is_rounded(shown: str, measured: str) -> bool:
    """Whether a figure of a page is a measured one, in fewer digits."""
    text = shown.replace(",", "").removesuffix(" µs")
    return abs(float(text) - float(measured)) <= 0.5001 * 10.0 ** -len(text.partition(".")[2])


@pytest.mark.parametrize("page, rows", [("README.md", 4), ("docs/performance.md", 12)])
def test_figures_of_speed_are_of_the_committed_results(page, rows):
    results = (ROOT / "benchmarks" / "results" / "gpu_programs-h200.txt").read_text(encoding="utf-8")
    found = 0
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        name, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        if name not in CASES:
            continue
        measured = re.findall(
            rf"^{re.escape(CASES[name])} +([\d.]+) +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+) ", results, re.MULTILINE
        )[0]
        assert all(is_rounded(shown, value) for shown, value in zip(figures, measured, strict=False) if shown), (
            line,
            measured,
        )
        found += 1
    assert found == rows
    assert is_rounded("1,754 µs", "1753.68") and not is_rounded("1,753 µs", "1753.68") and not is_rounded("3.8", "3.73")
