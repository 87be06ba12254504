"""Numbers beyond 64 bits, sizes whose product is, orders without end, flags that are no bools: as PyTorch 2.13."""

import math

import pytest

import shim_torch as torch

F = torch.nn.functional
aten = torch.ops.aten
UNPACKED = "Overflow when unpacking long long"
HUGE = (1 << 63, 1 << 64, 10**30, -(1 << 63) - 1)
X = torch.arange(16.0).reshape(4, 4)
PLACES = torch.tensor([0])


class Raises:
    """Each conversion to a number raises an error of its own."""

    def __index__(self):
        raise KeyError("index")

    def __bool__(self):
        raise KeyError("bool")


INT_ARGUMENTS = {
    "argmin": lambda n: torch.argmin(X, n),
    "cummin": lambda n: torch.cummin(X, n),
    "index_select": lambda n: torch.index_select(X, n, PLACES),
    "a keyword": lambda n: X.sum(dim=n),
    "softmax": lambda n: X.softmax(n),
    "polygamma": lambda n: torch.polygamma(n, X),
    "round's decimals": lambda n: torch.round(X, decimals=n),
    "one number for two sizes": lambda n: F.avg_pool2d(X[None], n),
    "size": lambda n: X.size(n),
    "stride": lambda n: X.stride(n),
    "an index": lambda n: X[n],
    "the second index": lambda n: X[0, n],
    "an index to write to": lambda n: X.clone().__setitem__(n, 0),
    "a number to write": lambda n: X.clone().__setitem__(0, n),
    "torch.Size": lambda n: torch.Size([1, n]),
    "a storage offset": lambda n: torch.ones(4).set_(torch.ones(4).untyped_storage(), n, (1,), (1,)),
    "a device's index": lambda n: torch.device("cpu", n),
    "threads": torch.set_num_threads,
}


@pytest.mark.parametrize("n", HUGE)
@pytest.mark.parametrize("name", INT_ARGUMENTS)
def test_ints_beyond_64_bits(name, n):
    with pytest.raises(ValueError, match=UNPACKED):
        INT_ARGUMENTS[name](n)


@pytest.mark.parametrize("n", HUGE)
def test_ints_beyond_64_bits_in_lists_name_their_place(n):
    for name, position, call in (
        ("sum", 1, lambda: torch.sum(X, [n])),
        ("sum", 2, lambda: torch.sum(X, [0, n])),
        ("view", 2, lambda: X.view(2, n)),
        ("empty", 1, lambda: torch.empty((n,))),
        ("repeat", 1, lambda: X.repeat(n)),
    ):
        with pytest.raises(
            TypeError, match=rf"{name}\(\): .* unpack the object at pos {position} with error .{UNPACKED}"
        ):
            call()
    with pytest.raises(TypeError, match=UNPACKED):
        torch.ones(3).resize_(n)


@pytest.mark.parametrize("n", HUGE)
def test_ints_beyond_64_bits_of_operators(n):
    for call in (
        lambda: aten.index_select.default(X, n, PLACES),
        lambda: aten.cat([X, X], n),
        lambda: aten.sum.dim_IntList(X, [0, n]),
        lambda: aten.scatter.value(X, n, PLACES[None], 2),
        lambda: aten.nll_loss(X, torch.tensor([0, 1, 2, 3]), None, 1, n),
        lambda: aten._fft_r2c(X, [1], n, True),
    ):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            call()


def test_manual_seed_takes_what_fits_64_bits():
    assert torch.Generator().manual_seed((1 << 64) - 1).initial_seed() == (1 << 64) - 1
    with pytest.raises(ValueError, match=UNPACKED):
        torch.Generator().manual_seed(1 << 64)


def test_ends_of_64_bits_are_values():
    for n in ((1 << 63) - 1, -(1 << 63), 1 << 62):
        with pytest.raises(IndexError, match=f"but got {n}"):
            torch.argmin(X, n)
        with pytest.raises(IndexError, match=f"index {n} is out of bounds"):
            X[n]


@pytest.mark.parametrize("n", [1 << 70, (1 << 63) - 1, -(1 << 63), -(1 << 70)])
def test_slices_end_where_64_bits_do(n):
    rows = X.tolist()
    assert X[n:].tolist() == rows[n:]
    assert X[:n].tolist() == rows[:n]
    assert X[1:n].tolist() == rows[1:n]
    assert torch.ones(1)[:: abs(n)].tolist() == [1.0]
    assert X[:, n:].shape == (4, len(rows[0][n:]))


def test_an_index_that_raises_is_no_index():
    with pytest.raises(IndexError, match="valid indices"):
        X[Raises()]
    with pytest.raises(TypeError, match="argument 'dim' .*must be int, not Raises"):
        torch.select(X, Raises(), 0)
    with pytest.raises(TypeError):
        torch.sum(X, [0, Raises()])
    with pytest.raises(RuntimeError, match="Expected a value of type 'int'"):
        aten.select.int(X, Raises(), 0)


OVERFLOWS = {
    "empty_strided": lambda: torch.empty_strided((1 << 32, 1 << 32), (0, 0)),
    "expand": lambda: torch.ones(1).expand(1 << 32, 1 << 32),
    "as_strided": lambda: torch.ones(1).as_strided((1 << 32, 1 << 32), (0, 0)),
    "set_": lambda: torch.ones(4).set_(torch.ones(4).untyped_storage(), 0, (1 << 32, 1 << 32), (0, 0)),
    "a view of nothing": lambda: torch.ones(0).view(1 << 32, 1 << 32),
    "broadcast_to": lambda: torch.broadcast_to(torch.ones(1), (1 << 40, 1 << 40)),
    "unfold": lambda: torch.ones(1).expand(1 << 62).unfold(0, 4, 1),
    "repeat to nothing": lambda: torch.ones(4).repeat(1 << 62),
    "repeat around": lambda: torch.ones(4).repeat((1 << 62) + 1),
    "repeat_interleave": lambda: torch.ones(4).repeat_interleave(1 << 62),
    "repeat_interleave around": lambda: torch.ones(4).repeat_interleave((1 << 62) + 1),
    "repeat_interleave by a tensor": lambda: torch.ones(4).repeat_interleave(torch.tensor([1 << 62] * 4)),
    "repeat_interleave by a tensor around": lambda: torch.ones(4).repeat_interleave(torch.tensor([(1 << 62) + 1] * 4)),
    "linspace": lambda: torch.linspace(0, 1, (1 << 63) - 1),
    "pad": lambda: F.pad(X, ((1 << 63) - 1, (1 << 63) - 1)),
    "pad that cuts": lambda: F.pad(X, (-(1 << 63) + 1, -(1 << 63) + 1)),
    "replicate": lambda: F.pad(X[None], (1 << 62, 1 << 62), mode="replicate"),
    "replicate around": lambda: F.pad(X[None], (-(1 << 63) + 1, (1 << 63) - 1), mode="replicate"),
    "replicate beyond memory": lambda: F.pad(X[None], (1 << 58, 1 << 58), mode="replicate"),
    "interpolate": lambda: F.interpolate(torch.ones(1, 1, 2, 2), size=(1 << 32, 1 << 32)),
    "interpolate beyond memory": lambda: F.interpolate(torch.ones(1, 1, 2, 2), size=(1, 1 << 58)),
    "a convolution's padding": lambda: F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 1, 1), padding=1 << 62),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_sizes_that_overflow(name):
    with pytest.raises(RuntimeError):
        OVERFLOWS[name]()


def test_a_refused_set_leaves_the_tensor():
    x = torch.ones(4)
    storage = x.untyped_storage().data_ptr()
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        x.set_(torch.zeros(4).untyped_storage(), 0, (1 << 32, 1 << 32), (0, 0))
    assert x.tolist() == [1.0] * 4 and x.untyped_storage().data_ptr() == storage


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polygamma_of_high_orders_ends(dtype):
    y = torch.tensor([1.0, 2.0], dtype=dtype)
    assert torch.polygamma(201, y.double()).tolist() == [math.inf, math.inf]
    assert torch.polygamma(200, y.double()).tolist() == [-math.inf, -math.inf]
    assert torch.polygamma(1 << 62, y)[0].item() == -math.inf
    assert torch.polygamma((1 << 31) + 1, y)[0].item() == math.inf


def test_sections_beyond_memory():
    with pytest.raises((MemoryError, RuntimeError)):
        torch.tensor_split(X, 1 << 62)


FLAGS = {
    "set_autocast_enabled(): argument 'enabled' (position 1) must be bool": torch.set_autocast_enabled,
    "set_autocast_enabled(): argument 'enabled' (position 2) must be bool": lambda v: torch.set_autocast_enabled(
        "cpu", v
    ),
    "set_grad_enabled(): argument 'enabled' (position 1) must be bool": torch._C._set_grad_enabled,
    "set_anomaly_enabled(): argument 'enabled' (position 1) must be bool": torch._C.set_anomaly_enabled,
    "set_view_replay_enabled(): argument 'enabled' (position 1) must be bool": torch._C._set_view_replay_enabled,
    "enabled must be a bool (got ": torch.set_autocast_cache_enabled,
}


@pytest.mark.parametrize("value", [X, Raises(), 1, None], ids=["tensor", "raises", "int", "None"])
@pytest.mark.parametrize("text", FLAGS)
def test_flags_are_bools(text, value):
    with pytest.raises(TypeError) as error:
        FLAGS[text](value)
    name = type(value).__name__
    assert str(error.value) == (text + name + ")" if text.endswith("(got ") else f"{text}, not {name}")
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def test_autocast_by_name():
    torch.set_autocast_enabled(device_type="cpu", enabled=True)
    assert torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", enabled=False)
    assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(TypeError, match=r"received an invalid combination of arguments - got \(\)"):
        torch.set_autocast_enabled()
    with pytest.raises(TypeError, match="argument 'device_type' .position 1. must be str, not bool"):
        torch.set_autocast_enabled(True, True)


def test_strings_without_utf8():
    bad = "\ud800"
    for call in (lambda: torch.device(bad), lambda: torch.ones(2, device=bad), lambda: aten.is_pinned(X, bad)):
        with pytest.raises(RuntimeError, match="utf-8|Expected a value of type"):
            call()
    with pytest.raises((TypeError, RuntimeError)):
        torch.sum(X, **{bad: 3})
    with pytest.raises(RuntimeError, match="Unknown keyword argument"):
        aten.sum(X, **{bad: 3})
    with pytest.raises(RuntimeError, match="Expected a value of type 'str'"):
        aten.linalg_norm.ord_str(X, bad)


DIVISIONS = {
    "rfftfreq": (lambda: torch.fft.rfftfreq(3, d=0.0), [math.nan, math.inf]),
    "rfftfreq of none": (lambda: torch.fft.rfftfreq(0), [math.nan]),
    "fftfreq": (lambda: torch.fft.fftfreq(3, d=0.0), [math.nan, math.inf, -math.inf]),
    "fake_quantize": (
        lambda: torch.fake_quantize_per_tensor_affine(torch.tensor([0.5, -0.5]), 0.0, 1, 0, 3),
        [0.0, -0.0],
    ),
    "attention": (
        lambda: F.scaled_dot_product_attention(*[torch.ones(1, 2, 0)] * 2, torch.ones(1, 2, 1)).ravel(),
        [1.0, 1.0],
    ),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_by_nothing(name):
    call, wanted = DIVISIONS[name]
    assert call().tolist() == pytest.approx(wanted, nan_ok=True)


def test_attention_of_no_heads():
    x, w, b = torch.ones(2, 3, 4), torch.ones(12, 4), torch.ones(12)
    with pytest.raises(RuntimeError, match="must divide evenly"):
        torch._native_multi_head_attention(x, x, x, 4, 0, w, b, torch.ones(4, 4), torch.ones(4))
    with pytest.raises(RuntimeError, match="num_head"):
        torch._transform_bias_rescale_qkv(torch.ones(2, 3, 12), b, 0)


def test_errors_of_bodies_have_pytorchs_types():
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        F.elu(X, 1j)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        F.leaky_relu(X, 1j)
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
        torch.tensor([0, 1]).scatter_(0, PLACES, math.inf)
    with (
        pytest.raises(RuntimeError, match="unsupported range: inf -> 2"),
        pytest.warns(UserWarning, match="deprecated"),
    ):
        torch.range(math.inf, 2)
    with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
        torch.linalg.pinv(torch.full((4, 4), math.inf))
    with pytest.raises(RuntimeError, match="Only supports complex dtypes, but found: Float"):
        aten._fft_c2c(X, [1], 0, True)
    with pytest.raises(RuntimeError, match="Only supports floating-point dtypes, but found: ComplexFloat"):
        aten._fft_r2c(X + 0j, [1], 0, True)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: alpha cannot be 0 for CELU"):
        F.celu(X, 0)
    with pytest.raises(OverflowError):
        X.fill_(1 << 70)


@pytest.mark.parametrize("name", ["resolve_conj", "resolve_neg", "native_norm"])
def test_what_is_no_tensor(name):
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'input' .position 1. must be Tensor, not float"):
        getattr(torch, name)(math.inf)
