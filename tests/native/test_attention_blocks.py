"""How attention on Hopper is cut into blocks: what the device has is not exceeded, and one key tells one kernel."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "native" / "src"
# Lines of "size causal picky lines rows cols processors", to lines of what is chosen; of size 0, "lines rows cols" are lines, tiles of keys
# and places for blocks, to how many parts the keys are cut into.
PROGRAM = """
#include <iostream>
#include "cuda/attention_blocks.h"
#include "cuda/driver.h"
namespace shim::cuda {
const Driver& load_driver() {
  static const Driver none{};
  return none;
}
int architecture_of(int) { return 0; }
}
int main() {
  shim::cuda::AttentionShape s;
  for (int processors; std::cin >> s.size >> s.causal >> s.picky >> s.lines >> s.rows >> s.cols >> processors;) {
    if (!s.size) {
      std::cout << shim::cuda::key_parts(s.lines, s.rows, s.cols) << std::endl;
      continue;
    }
    const auto b = shim::cuda::attention_blocks(s, processors);
    std::cout << b.groups << ' ' << b.blocks << ' ' << b.span << ' ' << b.stages << ' ' << b.threads() << ' '
              << b.bytes(s.size) << ' ' << b.parts(s.lines, s.rows) << std::endl;
  }
}
"""


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """A function of a list of shapes: what is chosen for each."""
    compiler = shutil.which("g++")
    if compiler is None or not (SOURCES / "cuda" / "attention_blocks.cpp").exists():
        pytest.skip("needs g++ and the source tree")
    folder = tmp_path_factory.mktemp("attention_blocks")
    (folder / "main.cpp").write_text(PROGRAM)
    sources = [str(folder / "main.cpp"), str(SOURCES / "cuda" / "attention_blocks.cpp")]
    program = str(folder / "program")
    subprocess.run([compiler, "-std=c++20", "-O0", "-I", str(SOURCES), *sources, "-o", program], check=True)

    def chosen(shapes):
        lines = "".join(" ".join(str(int(n)) for n in shape) + "\n" for shape in shapes)
        done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
        return [tuple(map(int, row.split())) for row in done.stdout.splitlines()]

    return chosen


ROWS = (1, 64, 65, 128, 193, 1000, 4096, 1 << 17, 1 << 24)
SHAPES = list(
    itertools.product((64, 128), (0, 1), (0, 1), (1, 2, 31, 32, 200, 512, 65535), ROWS, ROWS, (1, 78, 114, 132))
)


def test_a_multiprocessor_holds_its_blocks(blocks):
    for shape, (groups, count, span, stages, threads, shared, parts) in zip(SHAPES, blocks(SHAPES), strict=True):
        size, _, _, lines, rows = shape[:5]
        assert groups * 64 <= 256 and span <= 256, shape  # rows of a box that the copy engine takes
        assert shared <= 227 << 10 and count * (shared + 1024) <= 228 << 10, shape
        tiles = groups * 64 * size * 2 + 2 * stages * span * size * 2
        assert shared >= 1023 + tiles + (4 * stages + 2) * 8, shape  # which begin at a multiple of 1024
        assert threads == (groups + (count == 1)) * 128 and count * threads <= 1024, shape
        assert parts == -(-rows // (groups * 64)) * lines, shape


def test_the_key_of_a_kernel_tells_its_form(blocks):
    """It has the size of a head, whether it is causal, groups and blocks: the others must follow from these."""
    forms = {}
    for (size, causal, *_), (groups, count, span, stages, *_) in zip(SHAPES, blocks(SHAPES), strict=True):
        assert groups * 4 + count < 64  # a part of a key
        forms.setdefault((size, causal, groups * 4 + count), set()).add((span, stages))
    assert all(len(same) == 1 for same in forms.values()), forms
    chosen = {form for _, _, form in forms}
    assert chosen == {1 * 4 + 1, 1 * 4 + 2, 2 * 4 + 1, 2 * 4 + 2, 3 * 4 + 1}  # each is chosen somewhere


def test_masks_and_draws_leave_no_registers_for_large_tiles(blocks):
    picky = [shape for shape in SHAPES if shape[0] == 64 and shape[2] and shape[4] > 64]
    assert {row[:4] for row in blocks(picky)} == {(2, 2, 64, 3)}


def test_long_ones_have_large_tiles_and_many_short_ones_share(blocks):
    long, short = blocks([(64, 0, 0, 32, 4096, 4096, 132), (64, 0, 0, 512, 128, 128, 132)])
    assert (long[:4], short[:4]) == ((3, 1, 128, 3), (2, 2, 64, 3))


def parts_of(blocks, problems):
    return [row[0] for row in blocks([(0, 0, 0, *problem, 0) for problem in problems])]


def test_keys_of_few_queries_fill_the_device(blocks):
    """Parts are tiles, of blocks that have room at once where one round can hold them; many lines are not cut."""
    problems = list(
        itertools.product((1, 3, 8, 32, 100, 132, 133, 500, 4096), (1, 2, 3, 8, 64, 1000, 1 << 17), (1, 132, 264))
    )
    for (lines, tiles, places), parts in zip(problems, parts_of(blocks, problems), strict=True):
        assert 1 <= parts <= min(tiles, 128), (lines, tiles, places)
        if lines % places == 0:
            assert parts == 1, (lines, tiles, places)
    assert parts_of(blocks, [(8, 64, 132), (32, 64, 132), (1, 1000, 132), (8, 1, 132), (8, 64, 0)]) == [
        16,
        4,
        125,
        1,
        1,
    ]
