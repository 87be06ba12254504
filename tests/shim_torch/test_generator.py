"""CUDA's generator: Philox's words, native and in array operations. The CPU's: PyTorch's numbers from the same seed, and its state."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.tensor.generator import philox, philox_reference


def test_known_answer():
    # Random123's kat_vectors: philox4x32 10, counter and key all zero
    assert philox(np, 0, 0, 1).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]


@pytest.mark.parametrize("seed, offset", [(0, 0), (1, 2**32 - 3), (2**63 + 12345, 2**40), (2**64 - 1, 7)])
@pytest.mark.parametrize("blocks", [0, 1, 5, 40000])
def test_native_words(seed, offset, blocks):
    np.testing.assert_array_equal(philox(np, seed, offset, blocks), philox_reference(np, seed, offset, blocks))


def test_draws_are_normal():
    torch.manual_seed(3)
    x = torch.randn(200000).double()
    assert abs(x.mean().item()) < 0.01
    assert abs(x.std().item() - 1) < 0.01
    assert abs((x**4).mean().item() - 3) < 0.1


@pytest.mark.parametrize(
    ("kind", "a", "b", "dtype"),
    [
        ("uniform", -1.5, 3.25, "float32"),
        ("integer", -5, 1000, "int64"),
        ("integer", 3, 250, "uint8"),
        ("normal", 1.0, 3.0, "float64"),
    ],
)
def test_draws_in_array_operations(kind, a, b, dtype):
    """The form that CuPy takes: the stream's words as numbers."""
    from shim_torch._impl.records.random.draws import _random_bits

    arrays = SimpleNamespace(**vars(np))  # not NumPy itself
    drawn = getattr(_random_bits, "body", _random_bits)(arrays, np.empty(20001, dtype), kind, a, b, 77, 5)
    assert drawn.dtype == np.dtype(dtype)
    if kind == "normal":
        assert abs(drawn.mean() - a) < 0.1
        assert abs(drawn.std() - b) < 0.1
    else:
        assert a <= drawn.min() < a + 0.01 * (b - a) + 1
        assert b - 0.01 * (b - a) - 1 < drawn.max() < b
        assert abs(drawn.mean() - (a + b) / 2) < 0.02 * (b - a)


# What PyTorch 2.13 draws on the CPU after torch.manual_seed(5).
SEEDED = {
    "rand": (lambda: torch.rand(3), [0.8302518725395203, 0.12611091136932373, 0.9074696898460388]),
    "rand of doubles": (lambda: torch.rand(5, dtype=torch.float64)[:1], [0.6420150066280941]),
    "randn, few": (lambda: torch.randn(3), [-0.4867807626724243, -0.6038215756416321, -0.5580962300300598]),
    "randn, a block and more": (
        lambda: torch.randn(20)[[0, 9, 17]],
        [1.8423298597335815, -0.4340229630470276, 0.0316568948328495],
    ),
    "randn of doubles": (
        lambda: torch.randn(20, dtype=torch.float64)[[0, 9, 17]],
        [0.8235713931461853, -0.7125441318799689, 0.2521633133845829],
    ),
    "randint": (lambda: torch.randint(0, 100, (5,)), [11, 14, 67, 85, 6]),
    "random_": (lambda: torch.empty(2, dtype=torch.int64).random_(), [4095051218741643470, 6838803925648402109]),
    "randperm": (lambda: torch.randperm(8), [3, 6, 0, 2, 1, 4, 5, 7]),
    "randperm of int16": (lambda: torch.randperm(8, dtype=torch.int16), [3, 6, 0, 2, 1, 4, 5, 7]),
    "bernoulli_": (lambda: torch.empty(8).bernoulli_(0.4), [0, 1, 1, 1, 1, 0, 0, 0]),
    "bernoulli": (lambda: torch.bernoulli(torch.full((8,), 0.4)), [0, 1, 0, 0, 0, 1, 1, 0]),
    "exponential_": (
        lambda: torch.empty(3).exponential_(2.0),
        [0.5136321187019348, 0.15038900077342987, 0.22379054129123688],
    ),
    "geometric_": (lambda: torch.empty(3).geometric_(0.3), [2, 4, 3]),
    "multinomial": (lambda: torch.multinomial(torch.arange(1.0, 9), 4), [4, 3, 6, 2]),
    "dropout": (lambda: torch.nn.functional.dropout(torch.ones(8), 0.4) > 0, [0, 1, 1, 1, 1, 0, 1, 0]),
    "uniform_, in the order of memory": (
        lambda: torch.zeros(2, 3).t().uniform_()[:, 0],
        [0.8302518725395203, 0.12611091136932373, 0.9074696898460388],
    ),
    "trunc_normal_, mostly inside": (
        lambda: torch.nn.init.trunc_normal_(torch.empty(8), 0, 1, -1, 1)[4:],
        [-0.19741509854793549, -0.666225254535675, 0.6846421957015991, -0.7625571489334106],
    ),
    "trunc_normal_, mostly outside": (
        lambda: torch.nn.init.trunc_normal_(torch.empty(4), 0, 1, 2, 3),
        [2.033264636993408, 2.1261110305786133, 2.056633949279785, 2.4086780548095703],
    ),
    "rrelu": (
        lambda: torch.nn.functional.rrelu(torch.tensor([-1.0, 2, -1, 3]), training=True),
        [-0.25875312089920044, 2.0, -0.17911623418331146, 3.0],
    ),
}


@pytest.mark.parametrize("name", SEEDED)
def test_numbers_of_a_seed(name):
    draw, expected = SEEDED[name]
    torch.manual_seed(5)
    found = draw()
    if found.dtype.is_floating_point:
        assert found.tolist() == pytest.approx(expected, rel=1e-15)
    else:
        assert found.tolist() == expected


def test_state():
    g = torch.Generator().manual_seed(5)
    torch.randn(3, generator=g)
    state = g.get_state()
    assert state.shape == (5056,)
    assert (
        zlib.crc32(bytes(state.tolist()[:5040])) == 954120987
    )  # PyTorch's, the second number of the pair in wait included
    after = torch.randn(5, generator=g)
    assert torch.equal(torch.randn(5, generator=g.set_state(state)), after)
    assert torch.equal(torch.randn(5, generator=pickle.loads(pickle.dumps(torch.Generator().set_state(state)))), after)
    assert torch.equal(torch.randn(5, generator=torch.Generator().set_state(state).clone_state()), after)


def test_state_is_checked():
    g = torch.Generator()
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 16"):
        g.set_state(torch.zeros(16, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        g.set_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        g.set_state(torch.zeros(5056))
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        g.get_offset()


def test_threads_share_a_generator():
    g = torch.Generator().manual_seed(5)
    with ThreadPoolExecutor(4) as pool:
        drawn = torch.cat(list(pool.map(lambda _: torch.rand(20000, generator=g), range(16))))
    alone = torch.rand(320000, generator=torch.Generator().manual_seed(5))
    assert torch.equal(drawn.sort()[0], alone.sort()[0])


PROCESS = """
import shim_torch as torch
from shim_torch.utils.data import DataLoader, Dataset

class Draws(Dataset):
    __len__ = lambda self: 2
    __getitem__ = lambda self, i: torch.tensor([float(torch.initial_seed() % 2**20), torch.rand(()).item()])

if __name__ == "__main__":
    workers = [x.tolist() for x in DataLoader(Draws(), batch_size=None, num_workers=2)]
    print(torch.initial_seed(), torch.Generator().initial_seed(), torch.rand(()).item(), *sum(workers, []))
"""


def test_every_process_is_seeded_at_random(tmp_path):
    (tmp_path / "draws.py").write_text(PROCESS)
    environment = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1])}
    runs = [
        subprocess.run(
            [sys.executable, "draws.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][1] == runs[1][1] == "67280421310721"  # a generator of one's own begins at PyTorch's number
    for one, other in [(runs[0][i], runs[1][i]) for i in (0, 2, 3, 4, 5, 6)]:
        assert one != other
    assert runs[0][3] != runs[0][5] and runs[0][4] != runs[0][6]  # nor do two workers draw the same
