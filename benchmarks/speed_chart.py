"""Draws docs/speed.svg from committed results: the time of calls, as a part of PyTorch's eager mode.

    python benchmarks/speed_chart.py          # after new results were put into benchmarks/results/

Needs nothing beside Python. tests/test_pages.py checks that the committed picture is what this draws.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PICTURE = ROOT / "benchmarks" / "results", ROOT / "docs" / "speed.svg"
GPU, CPU = "gpu_programs-h200.txt", "cpu_wide_one_thread.txt"

# Rows of the GPU's table and what they are called: training steps, kernels of libraries, single calls, and what is slower.
GPU_ROWS = {
    "step language model": "training step, small language model",
    "step MLP AdamW": "training step, perceptron with AdamW",
    "step TransformerEncoderLayer": "training step, encoder layer",
    "step convolutions": "training step, convolutions",
    "b:Liger RMSNorm fwd+bwd 2048x4096": "Liger RMSNorm, forward and backward",
    "b:Triton launch, tuple grid": "Triton launch",
    "AdamW step, 32 x 256x1024": "AdamW over 32 tensors",
    "b:add 1024": "add, 1024 numbers",
    "b:softmax 4096x4096": "softmax, 4096 x 4096",
    "s:LSTM 64 steps fwd+bwd": "LSTM, forward and backward",
    "conv2d 16x64x56x56, 3x3": "convolution 3 x 3",
    "batch_norm train": "batch norm, training",
}
CPU_ROWS = {
    "training": "training steps",
    "host": "small calls",
    "indexing": "indexing",
    "random": "random numbers",
    "reductions": "reductions",
    "backward": "operators with their gradients",
    "special": "special functions",
    "dtypes": "other dtypes",
    "pointwise": "pointwise operators",
    "modules": "modules",
    "layers": "layers",
    "linalg": "linear algebra",
    "copies": "copies",
}
WIDTH, LEFT, RIGHT, ROW = 860, 270, 40, 20
SHORTEST, LONGEST = 1 / 16, 8  # the axis, in parts of PyTorch's time
HOST, DEVICE = "#2f6fab", "#e08a2e"


def gpu_table(text: str) -> dict[str, tuple[float, float]]:
    """{case: (ratio of host times, ratio of device times)} of a table with "host PyTorch ratio device PyTorch ratio"."""
    number = r"\s+(\d+\.\d+)"
    rows = re.findall(rf"^(\S.*?){number * 6}$", text, re.MULTILINE)
    return {name: (float(host), float(device)) for name, _, _, host, _, _, device in rows}


def cpu_means(text: str) -> dict[str, float]:
    """{kind of call: geometric mean}, the last lines of the CPU's file."""
    _, _, end = text.partition("geometric mean of the ratios of medians:\n")
    return {name: float(mean) for name, mean in re.findall(r"^ +(\w+) +(\d+\.\d+)$", end, re.MULTILINE)}


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def place(ratio: float) -> float:
    """Where a ratio stands on the axis, which is logarithmic."""
    inside = min(max(ratio, SHORTEST), LONGEST)
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(inside / SHORTEST) / math.log(LONGEST / SHORTEST)


def bar(y: float, height: float, ratio: float, color: str) -> str:
    """From PyTorch's time (1) to ours; its number stands at its end."""
    begin, end = sorted((place(1), place(ratio)))
    side, at = ("end", begin - 4) if ratio < 1 else ("start", end + 4)
    return (
        f'<rect x="{begin:.1f}" y="{y:.1f}" width="{end - begin:.1f}" height="{height:.1f}" fill="{color}"/>'
        f'<text x="{at:.1f}" y="{y + height / 2 + 3:.1f}" font-size="9" text-anchor="{side}">{ratio:.2f}</text>'
    )


def panel(top: float, title: str, rows: list[tuple[str, list[tuple[float, str]]]]) -> tuple[list[str], float]:
    """A title, an axis and a group of bars a row: the elements, and where they end."""
    bottom = top + 38 + ROW * len(rows)
    made = [f'<text x="12" y="{top + 12:.0f}" font-size="13" font-weight="bold">{title}</text>']
    for power in range(-4, 4):
        x, label = place(2.0**power), f"1/{2**-power}" if power < 0 else str(2**power)
        made.append(
            f'<line x1="{x:.1f}" y1="{top + 32:.0f}" x2="{x:.1f}" y2="{bottom:.0f}" stroke="{"#444" if not power else "#ddd"}"/>'
        )
        made.append(
            f'<text x="{x:.1f}" y="{top + 29:.0f}" font-size="9" text-anchor="middle" fill="#555">{label}</text>'
        )
    for number, (name, bars) in enumerate(rows):
        y = top + 36 + ROW * number
        made.append(f'<text x="{LEFT - 8}" y="{y + 12:.0f}" font-size="11" text-anchor="end">{name}</text>')
        height = (ROW - 4) / len(bars)
        made += [bar(y + height * place_, height - 0.5, ratio, color) for place_, (ratio, color) in enumerate(bars)]
    return made, bottom


def draw(gpu: str, cpu: str) -> str:
    """The picture, of the texts of the two files."""
    table, means = gpu_table(gpu), cpu_means(cpu)
    rows = [(called, [(table[name][0], HOST), (table[name][1], DEVICE)]) for name, called in GPU_ROWS.items()]
    both = [geometric_mean([row[side] for name, row in table.items()]) for side in (0, 1)]
    rows.insert(0, (f"all {len(table)} calls, geometric mean", [(both[0], HOST), (both[1], DEVICE)]))
    made, end = panel(56, f"One NVIDIA H200, PyTorch 2.11 ({GPU})", rows)
    more, end = panel(
        end + 20,
        f"CPU, one thread, PyTorch 2.13, geometric means ({CPU})",
        [(called, [(means[n], HOST)]) for n, called in CPU_ROWS.items()],
    )
    head = [
        '<text x="12" y="20" font-size="15" font-weight="bold">Time of shim-torch as a part of PyTorch eager mode\'s</text>',
        '<text x="12" y="38" font-size="11" fill="#555">1 is PyTorch; bars to the left are faster. The axis doubles from line to line.</text>',
        f'<rect x="500" y="28" width="10" height="10" fill="{HOST}"/><text x="514" y="37" font-size="11">until the call returns</text>',
        f'<rect x="650" y="28" width="10" height="10" fill="{DEVICE}"/><text x="664" y="37" font-size="11">on the GPU</text>',
    ]
    height = end + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
        *head, *made, *more, "</svg>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def picture() -> str:
    """What docs/speed.svg is to hold."""
    return draw((RESULTS / GPU).read_text(encoding="utf-8"), (RESULTS / CPU).read_text(encoding="utf-8"))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")
