"""arange of floats, histograms, added rows, places of a grid and saved files on the CPU, against NumPy."""

import io
import math
import pickletools
import zipfile

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

rng = np.random.default_rng(0)


def test_ranges():
    for start, end, step in [
        (0, 5.0, 1),
        (0.5, 10, 0.3),
        (10.0, -3, -0.7),
        (0.0, 3000.0, 1.0),
        (1, 1.0, 0.1),
        (-2.5, 2000, 0.125),
    ]:
        count = math.ceil((end - start) / step)
        expected = np.arange(count, dtype=np.float64) * step + start
        for dtype in (torch.float32, torch.float64):
            found = torch.arange(start, end, step, dtype=dtype)
            assert found.dtype is dtype and np.array_equal(found.numpy(), expected.astype(str(dtype)[6:]))
        assert torch.arange(start, end, step).dtype is torch.float32
    assert torch.arange(3.5).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.arange(0, 5000, 3, dtype=torch.int32).tolist() == list(range(0, 5000, 3))
    assert torch.arange(5000, -5, -7).tolist() == list(range(5000, -5, -7))
    assert torch.arange(2**40, 2**40 + 3).tolist() == [2**40, 2**40 + 1, 2**40 + 2]
    assert torch.arange(0.0, 3.0, dtype=torch.int64).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0.0, 1.0, 0.0)
    with pytest.raises(RuntimeError, match="bound inconsistent with step sign"):
        torch.arange(0.0, -1.0, 1.0)
    with pytest.raises(RuntimeError, match="unsupported range"):
        torch.arange(0.0, math.inf)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histograms(dtype):
    x = torch.from_numpy(rng.standard_normal((300, 401))).to(dtype)
    x[0, :3] = torch.tensor([math.nan, -3.0, 3.0])
    flat = x.numpy().reshape(-1)
    inside = flat[(flat >= -3) & (flat <= 3)]
    place = ((inside - flat.dtype.type(-3)) * flat.dtype.type(100) / flat.dtype.type(6)).astype(np.int64)
    expected = np.bincount(np.minimum(place, 99), minlength=100)
    found = torch.histc(x, 100, -3, 3)
    assert found.dtype is dtype and np.array_equal(found.numpy(), expected)
    assert np.array_equal(torch.histc(x.t(), 100, -3, 3).numpy(), expected)
    y = torch.tensor([1.0, 2.0, 2.0, 4.0], dtype=dtype)
    assert torch.histc(y, 3).tolist() == [1.0, 2.0, 1.0]
    assert torch.histc(torch.ones(4, dtype=dtype), 4).tolist() == [0.0, 0.0, 4.0, 0.0]
    with pytest.raises(RuntimeError, match="not finite"):
        torch.histc(x, 10)
    with pytest.raises(RuntimeError, match="max must be larger than min"):
        torch.histc(y, 10, 3, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8])
@pytest.mark.parametrize("width", [1, 7, 8, 37])
def test_rows_added_at_an_index(dtype, width):
    x = torch.from_numpy(rng.integers(0, 9, (20, width))).to(dtype)
    places = torch.from_numpy(rng.integers(0, 5, 20))
    expected = np.zeros((5, width), x.numpy().dtype)
    np.add.at(expected, places.numpy(), x.numpy())
    assert np.array_equal(torch.zeros(5, width, dtype=dtype).index_add_(0, places, x).numpy(), expected)
    kept = np.zeros((5, width), x.numpy().dtype)
    kept[places.numpy()] = x.numpy()
    assert np.array_equal(torch.zeros(5, width, dtype=dtype).index_copy_(0, places, x).numpy(), kept)
    assert np.array_equal(torch.gather(x, 0, places[:, None].expand(20, width)).numpy(), x.numpy()[places.numpy()])


def test_elements_repeated():
    x = torch.arange(12.0).reshape(3, 4)
    for times in (0, 1, 2, 3, 4, 5):
        assert np.array_equal(x.repeat_interleave(times).numpy(), x.numpy().repeat(times))
        assert np.array_equal(x.t().repeat_interleave(times, 1).numpy(), x.numpy().T.repeat(times, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_images_at_the_places_of_a_grid(mode, align, dtype):
    image = torch.from_numpy(rng.standard_normal((2, 3, 9, 11))).to(dtype)
    for count in (1, 50):  # of few places the plane is not copied
        grid = torch.from_numpy(rng.uniform(-1.6, 1.6, (2, count, 2, 2))).to(dtype)
        grid[0, 0, 0, 0] = math.nan
        grid[1, 0, 0] = torch.tensor([-1.0, 1.0])
        for padding in ("zeros", "border", "reflection"):
            found = F.grid_sample(image, grid, mode, padding, align)
            by_formula = F.grid_sample(image.clone().requires_grad_(), grid, mode, padding, align)
            torch.testing.assert_close(found, by_formula.detach(), equal_nan=True)
    image[0, 0, 0, 0] = math.inf
    away = torch.full((2, 40, 1, 2), 0.1, dtype=dtype)
    assert bool(F.grid_sample(image, away, mode, "zeros", align).isfinite().all())


def test_saved_files_name_each_storage_class_once():
    value = {"a": torch.zeros(2), "b": torch.ones(3), "c": ["x", 1, 2.5, None, True, ("y", (1, 2))], "d": {}}
    value["c"].append(value["c"])  # a list that has itself
    file = io.BytesIO()
    torch.save(value, file)
    names = [
        arg for op, arg, _ in pickletools.genops(zipfile.ZipFile(file).read("archive/data.pkl")) if op.name == "GLOBAL"
    ]
    assert names.count("torch FloatStorage") == 1 and "torch._utils _rebuild_tensor_v2" in names
    file.seek(0)
    back = torch.load(file)
    assert back["a"].tolist() == [0, 0] and back["c"][:6] == value["c"][:6] and back["c"][6] is back["c"]
    assert torch.FloatStorage is torch.FloatStorage
