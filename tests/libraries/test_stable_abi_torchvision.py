"""The stock torchvision wheel over our torch: operators against NumPy, files of pictures, transforms on tensors."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if importlib.util.find_spec("torchvision") is None or importlib.util.find_spec("PIL") is None:
    pytest.skip("torchvision and Pillow are not installed (make test installs them)", allow_module_level=True)

_token = enable_torch_proxy({"torchvision"})
import torchvision
from torchvision import io, ops, tv_tensors
from torchvision.transforms import v2

if not torchvision.extension._has_ops():
    pytest.skip("torchvision's library does not load here: it needs nvidia-cuda-runtime", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


rng = np.random.default_rng(0)
PICTURE = rng.integers(0, 256, (3, 37, 51), dtype=np.uint8)


def boxes(n: int) -> np.ndarray:
    corners = rng.random((n, 4), dtype=np.float32) * 50
    corners[:, 2:] += corners[:, :2] + 1
    return corners


def overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    low, high = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    inner = (high - low).clip(0).prod(-1)
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    return inner / (area(a)[:, None] + area(b) - inner)


def test_nms_against_numpy():
    b, scores = boxes(200), rng.random(200, dtype=np.float32)
    kept: list[int] = []
    table = overlaps(b, b)
    for i in np.argsort(-scores, kind="stable"):
        if all(table[i, k] <= 0.3 for k in kept):
            kept.append(int(i))
    assert ops.nms(torch.from_numpy(b), torch.from_numpy(scores), 0.3).tolist() == kept


def test_batched_nms_and_box_iou():
    b, scores = boxes(20), rng.random(20, dtype=np.float32)
    np.testing.assert_allclose(ops.box_iou(torch.from_numpy(b), torch.from_numpy(b)).numpy(), overlaps(b, b), atol=1e-6)
    one = torch.zeros(20, dtype=torch.int64)
    t = torch.from_numpy(b), torch.from_numpy(scores)
    assert ops.batched_nms(*t, one, 0.3).tolist() == ops.nms(*t, 0.3).tolist()


def sample(image: np.ndarray, y: float, x: float) -> np.ndarray:
    y, x = max(y, 0.0), max(x, 0.0)
    y0, x0 = min(int(y), image.shape[1] - 1), min(int(x), image.shape[2] - 1)
    y1, x1 = min(y0 + 1, image.shape[1] - 1), min(x0 + 1, image.shape[2] - 1)
    fy, fx = (y - y0 if y1 > y0 else 0.0), (x - x0 if x1 > x0 else 0.0)
    top = image[:, y0, x0] * (1 - fx) + image[:, y0, x1] * fx
    return top * (1 - fy) + (image[:, y1, x0] * (1 - fx) + image[:, y1, x1] * fx) * fy


def test_roi_align_against_numpy_and_its_gradient():
    image = rng.random((2, 16, 16))
    box = np.array([2.5, 1.0, 12.0, 9.5])
    x = torch.from_numpy(image)[None].requires_grad_(True)
    rois = [torch.from_numpy(box)[None]]
    found = ops.roi_align(x, rois, (3, 4), sampling_ratio=2, aligned=True)
    low, step = box[[1, 0]] - 0.5, (box[[3, 2]] - box[[1, 0]]) / np.array([3, 4])
    expected = np.zeros((2, 3, 4))
    for i, j in np.ndindex(3, 4):
        points = [
            (low[0] + (i + (a + 0.5) / 2) * step[0], low[1] + (j + (c + 0.5) / 2) * step[1])
            for a in (0, 1)
            for c in (0, 1)
        ]
        expected[:, i, j] = np.mean([sample(image, y, z) for y, z in points], axis=0)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, atol=1e-12)
    found.sum().backward()
    assert float(x.grad.sum()) == pytest.approx(2 * 3 * 4)  # each output is a mean of weights that add up to one
    torch.autograd.gradcheck(
        lambda v: ops.roi_align(v, rois, (2, 2), sampling_ratio=1, aligned=True),
        (x.detach()[:, :1].requires_grad_(True),),
    )


def test_operators_on_meta_and_their_errors():
    meta = ops.roi_align(torch.empty(1, 2, 16, 16, device="meta"), torch.empty(3, 5, device="meta"), (4, 4))
    assert meta.shape == (3, 2, 4, 4)
    with pytest.raises(
        RuntimeError, match="boxes and scores should have same number of elements in dimension 0, got 3 and 2"
    ):
        ops.nms(torch.from_numpy(boxes(3)), torch.ones(2), 0.5)


def test_deformable_convolution_without_offsets_is_a_convolution():
    x, w = torch.from_numpy(rng.random((1, 2, 8, 8))), torch.from_numpy(rng.random((3, 2, 3, 3)))
    found = ops.deform_conv2d(x, torch.zeros(1, 18, 6, 6, dtype=torch.float64), w)
    np.testing.assert_allclose(found.numpy(), torch.nn.functional.conv2d(x, w).numpy(), atol=1e-12)


def test_png_round_trip(tmp_path):
    picture = torch.from_numpy(PICTURE)
    assert torch.equal(io.decode_png(io.encode_png(picture)), picture)
    path = str(tmp_path / "picture.png")
    io.write_png(picture, path)
    assert torch.equal(io.decode_image(path), picture)
    assert bytes(io.read_file(path).numpy()) == (tmp_path / "picture.png").read_bytes()
    with pytest.raises(RuntimeError, match="Content is not png!"):
        io.decode_png(torch.zeros(100, dtype=torch.uint8))


def test_jpeg_is_close_and_is_what_pillow_reads():
    from io import BytesIO

    from PIL import Image

    smooth = np.broadcast_to(np.arange(48, dtype=np.uint8) * 5, (3, 40, 48)).copy()
    encoded = io.encode_jpeg(torch.from_numpy(smooth), quality=95)
    decoded = io.decode_jpeg(encoded).numpy()
    assert np.abs(decoded.astype(int) - smooth).max() <= 6
    other = np.asarray(Image.open(BytesIO(encoded.numpy().tobytes()))).transpose(2, 0, 1)
    assert np.abs(decoded.astype(int) - other).max() <= 2


def test_transforms_by_value():
    x = torch.from_numpy(PICTURE)
    np.testing.assert_array_equal(v2.functional.horizontal_flip(x).numpy(), PICTURE[:, :, ::-1])
    np.testing.assert_array_equal(v2.CenterCrop(21)(x).numpy(), PICTURE[:, 8:29, 15:36])
    np.testing.assert_array_equal(v2.Pad(2)(x).numpy(), np.pad(PICTURE, ((0, 0), (2, 2), (2, 2))))
    floats = v2.ToDtype(torch.float32, scale=True)(x)
    np.testing.assert_allclose(floats.numpy(), PICTURE / np.float32(255), rtol=1e-6)
    normal = v2.Normalize([0.5] * 3, [0.25] * 3)(floats)
    np.testing.assert_allclose(normal.numpy(), (PICTURE / 255 - 0.5) / 0.25, atol=1e-5)
    gray = v2.Grayscale()(floats)
    np.testing.assert_allclose(gray[0].numpy(), np.tensordot([0.2989, 0.587, 0.114], PICTURE / 255, 1), atol=1e-5)
    half = v2.Resize((18, 25), interpolation=v2.InterpolationMode.NEAREST)(x)
    rows, columns = (np.arange(18) * 37 / 18).astype(int), (np.arange(25) * 51 / 25).astype(int)
    np.testing.assert_array_equal(half.numpy(), PICTURE[:, rows][:, :, columns])
    turned = v2.functional.rotate(x[:, :37, :37], 90)
    np.testing.assert_array_equal(turned.numpy(), np.rot90(PICTURE[:, :37, :37], axes=(1, 2)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: v2.Resize((20, 24), antialias=True),
        lambda: v2.RandomResizedCrop(16),
        lambda: v2.ColorJitter(0.2, 0.2, 0.2, 0.1),
        lambda: v2.GaussianBlur(5),
        lambda: v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2)),
        lambda: v2.RandomPerspective(p=1.0),
        lambda: v2.ElasticTransform(),
        lambda: v2.RandomEqualize(1.0),
        lambda: v2.RandAugment(),
        lambda: v2.AutoAugment(),
        lambda: v2.TrivialAugmentWide(),
        lambda: v2.JPEG(50),
    ],
)
def test_random_transforms_repeat_with_the_seed(make):
    transform, x = make(), torch.from_numpy(PICTURE)
    results = []
    for _ in range(2):
        torch.manual_seed(3)
        results.append(transform(x))
    assert results[0].dtype == torch.uint8 and results[0].dim() == 3
    assert torch.equal(results[0], results[1])


def test_boxes_and_images_keep_their_types():
    image = tv_tensors.Image(torch.from_numpy(PICTURE))
    box = tv_tensors.BoundingBoxes([[1, 2, 11, 12]], format="XYXY", canvas_size=(37, 51))
    flipped, moved = v2.RandomHorizontalFlip(1.0)(image, box)
    assert type(flipped) is tv_tensors.Image and type(moved) is tv_tensors.BoundingBoxes
    assert moved.tolist() == [[40, 2, 50, 12]]


@pytest.mark.parametrize("kind", ["CutMix", "MixUp"])
def test_mixed_batches(kind):
    torch.manual_seed(0)
    x, y = torch.rand(4, 3, 16, 16), torch.arange(4)
    images, labels = getattr(v2, kind)(num_classes=5)(x, y)
    share = float(labels[0, 0])
    assert images.shape == x.shape and 0 <= share <= 1
    expected = share * torch.eye(4, 5) + (1 - share) * torch.eye(4, 5).roll(1, 0)
    np.testing.assert_allclose(labels.numpy(), expected.numpy(), atol=1e-6)


def test_augmix_mixes_pictures_of_one_kind():
    assert v2.AugMix()(torch.from_numpy(PICTURE)).dtype == torch.uint8


@pytest.mark.parametrize("raised,expected", [(ValueError, RuntimeError), (KeyboardInterrupt, KeyboardInterrupt)])
def test_an_operator_of_ours_that_fails_inside_of_a_kernel(raised, expected):
    def fails(*args, **kwargs):
        raise raised("our own text")

    x, weight, offset = torch.rand(1, 1, 4, 4), torch.rand(1, 1, 3, 3), torch.rand(1, 18, 2, 2)
    library = torch.library.Library("aten", "IMPL")
    library.impl("new_zeros", fails, "CPU")
    try:
        with pytest.raises(expected, match="our own text"):
            ops.deform_conv2d(x, offset, weight)
    finally:
        library._destroy()
    assert ops.deform_conv2d(x, offset, weight).shape == (1, 1, 2, 2)


def test_a_model_runs_forward_and_backward():
    model = torchvision.models.resnet18(num_classes=10).train()
    loss = model(torch.rand(2, 3, 32, 32)).logsumexp(1).sum()
    loss.backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())
