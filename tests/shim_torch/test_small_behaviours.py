"""Behaviour that PyTorch's own test files ask for and that no other file here covers."""

import copy
import math

import numpy as np
import pytest

import shim_torch as torch


def test_methods_copy_as_themselves():
    for name in ("__getitem__", "add", "norm", "unique"):
        method = getattr(torch.Tensor, name)
        assert copy.deepcopy(method) is method
        assert copy.copy(method) is method


def test_diff_beyond_the_length_is_empty():
    x = torch.tensor([[1, 4], [9, 16]])
    assert torch.diff(x, n=5).shape == (2, 0)
    assert torch.diff(x, dim=0, prepend=x[:1], append=x[:1]).tolist() == [[0, 0], [8, 12], [-8, -12]]
    with pytest.raises(RuntimeError, match="diff expects input to be at least one-dimensional"):
        torch.diff(torch.tensor(1))
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        torch.diff(x, n=-1)
    with pytest.raises(RuntimeError, match="diff expects prepend or append to be the same dimension as input"):
        torch.diff(x, prepend=torch.tensor([1]))


def test_gradient_takes_infinities_from_the_neighbours_alone():
    (found,) = torch.gradient(torch.tensor([2.0, math.inf, 5.0, -math.inf]))
    assert found.tolist() == [math.inf, 1.5, -math.inf, -math.inf]
    (found,) = torch.gradient(torch.arange(3.0), spacing=2j)
    assert found.tolist() == [-0.5j] * 3
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        torch.gradient(torch.ones(3, 3), dim=(0, 0))


def test_sizes_from_numpy_arrays_and_tensors():
    assert torch.ones((np.array(3), torch.tensor(4))).shape == (3, 4)
    assert torch.ones(np.int64(3), np.array(4)).shape == (3, 4)
    with pytest.raises(TypeError, match="must be tuple of ints, but found element of type float at pos 0"):
        torch.ones((3.0, 4))
    with pytest.raises(TypeError):
        torch.ones((np.array(3.0), 4))


def test_map_broadcasts():
    x = torch.ones(2, 3)
    assert x.map_(torch.arange(3.0), lambda a, b: a + b).tolist() == [[1, 2, 3]] * 2
    assert x.map2_(torch.arange(3.0), torch.ones(1), lambda a, b, c: a + b * c).tolist() == [[1, 3, 5]] * 2
    with pytest.raises(TypeError, match="not callable"):
        x.map_(x, "no function")


def test_index_add_checks_its_source():
    x = torch.zeros(2, 3)
    with pytest.raises(
        RuntimeError, match=r"Number of indices \(3\) should be equal to source.size\(dim\): \(2\), for dim: 0"
    ):
        x.index_add(0, torch.tensor([0, 1, 1]), torch.ones(2, 3))
    with pytest.raises(
        RuntimeError, match=r"source tensor shape must match self tensor shape, excluding the specified dim"
    ):
        x.index_add(0, torch.tensor([0, 1]), torch.ones(2, 1))
    found = torch.zeros(2, dtype=torch.uint8).index_add(0, torch.tensor([1]), torch.tensor([3]).byte(), alpha=-1)
    assert found.tolist() == [0, 253]


def test_gather_and_scatter_with_an_index_of_no_dims():
    one, at = torch.tensor([7.0]), torch.tensor(0)
    assert torch.gather(one, 0, at).shape == ()
    assert torch.scatter(one, 0, at, torch.tensor(3.0)).tolist() == [3]


def test_integers_are_drawn():
    assert torch.empty(200, dtype=torch.int8).geometric_(0.5).min() == 1
    out = torch.bernoulli(torch.tensor([0.0, 1.0]), out=torch.empty(2, dtype=torch.int8))
    assert out.tolist() == [0, 1] and out.dtype == torch.int8


def test_std_mean_with_unbiased():
    x = torch.tensor([[1.0, 2.0, 6.0]])
    std, mean = torch.std_mean(x, 1, unbiased=False)
    assert mean.item() == 3 and abs(std.item() - math.sqrt(14 / 3)) < 1e-6
    assert torch.var_mean(x, unbiased=True)[0].item() == 7
    assert torch.var_mean(x, (0, 1), unbiased=False, keepdim=True)[0].shape == (1, 1)


def test_out_dtypes_of_cumulative_functions():
    assert torch.cumsum(torch.tensor([1.0, 2.0]), 0, out=torch.empty(2, dtype=torch.int16)).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="expected scalar_type Double but found Float"):
        torch.logcumsumexp(torch.ones(2).double(), 0, out=torch.empty(2))
    with pytest.raises(RuntimeError, match="expects exponent to have int dtype but got long int"):
        torch.frexp(torch.ones(1), out=(torch.empty(1), torch.empty(1, dtype=torch.int64)))


def test_threshold_keeps_nan():
    found = torch.nn.functional.threshold(torch.tensor([math.nan, 1.0, 2.0]), 1.0, 5.0)
    assert math.isnan(found[0]) and found[1:].tolist() == [5, 2]


def test_storages_of_meta_tensors_have_no_values():
    storage = torch.empty(3, device="meta").storage()
    for read in (lambda: storage[0], storage.tolist, lambda: storage.untyped()[0]):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        torch.ones(3).storage().copy_(storage)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        storage.share_memory_()


def test_tensors_from_storages():
    x = torch.tensor([1.0, 2.0])
    assert torch.tensor(x.storage()).tolist() == [1, 2]
    assert torch.tensor(x.untyped_storage(), dtype=torch.float32).tolist() == [1, 2]
    assert x.storage_type() is torch.FloatStorage or x.storage_type().__name__ == "FloatStorage"
    with pytest.raises(RuntimeError, match="Expected a Storage of type Long or an UntypedStorage, but got Float"):
        torch.tensor(x.storage(), dtype=torch.int64)


@pytest.mark.parametrize(
    ("draw", "text"),
    [
        (lambda x: x.exponential_(0), "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda x: x.cauchy_(0, -1), "cauchy_ expects sigma > 0.0, but found sigma=-1"),
        (lambda x: x.log_normal_(0, 0), "log_normal_ expects std > 0.0, but found std=0"),
        (lambda x: torch.bernoulli(x + 2), "Expected p_in >= 0 && p_in <= 1"),
        (lambda x: torch.multinomial(x * 0, 1), "sum of probabilities <= 0"),
        (
            lambda x: torch.multinomial(x.long(), 1),
            "multinomial only supports floating-point dtypes for input, got: Long",
        ),
        (lambda x: x.long().exponential_(), "Exponential distribution is a continuous probability distribution"),
    ],
)
def test_what_cannot_be_drawn(draw, text):
    with pytest.raises(RuntimeError, match=text):
        draw(torch.ones(3))


def test_deterministic_modes():
    try:
        torch.set_deterministic_debug_mode("warn")
        assert torch.get_deterministic_debug_mode() == 1 and torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(False, warn_only=True)
        assert (
            not torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
        )
        with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 5"):
            torch.set_deterministic_debug_mode(5)
        with pytest.raises(TypeError, match="must be bool, not int"):
            torch.use_deterministic_algorithms(1)
    finally:
        torch.use_deterministic_algorithms(False)


def test_storages_copy_together_with_tensors():
    x = torch.arange(3.0)
    y, storage = copy.deepcopy([x, x.storage()])
    y.add_(1)
    assert storage.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]
    assert x.storage().__sizeof__() - x[:0].clone().storage().__sizeof__() == 12


def test_storages_from_buffers_and_files(tmp_path):
    assert torch.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist() == [258, 772]
    assert torch.BoolStorage.from_buffer(bytearray([0, 1, 2]), "native").tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r"buffer size \(5\) must be a multiple of element size \(4\)"):
        torch.FloatStorage.from_buffer(bytearray(5), "little")
    file = tmp_path / "floats"
    np.array([1.5, 2.5], "float32").tofile(file)
    assert torch.FloatStorage.from_file(str(file), False, 2).tolist() == [1.5, 2.5]


def test_a_typed_storage_is_of_one_dtype():
    with pytest.raises(
        RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got type Double"
    ):
        torch.empty(0).set_(torch.ones(2).double().storage())


def test_set_refuses_what_reaches_outside_of_the_storage_and_leaves_the_tensor_as_it_was():
    x, y = torch.arange(12.0), torch.ones(2)
    for offset, sizes, strides, text in (
        (-1, (2,), (1,), "Tensor: invalid storage offset -1"),
        (0, (2, 2), (-1, 1), "Storage size calculation overflowed with sizes=[2, 2] and strides=[-1, 1]"),
        (0, (2,), (1, 1), "unequal size length (1) and stride length (2)"),
        (2**62, (2,), (1,), "Storage size calculation overflowed with sizes=[2] and strides=[1]"),
    ):
        for source in (x, x.untyped_storage()):
            with pytest.raises(RuntimeError) as error:
                y.set_(source, offset, sizes, strides)
            assert str(error.value) == text and y.tolist() == [1, 1] and y._version == 0
    for offset in (2**61, 2**62):
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            torch.as_strided(x, (2,), (1,), offset)
    y.set_(x.untyped_storage(), 5, (3, 4), (4, 1))
    assert y[0].tolist() == [5, 6, 7, 8] and x.untyped_storage().nbytes() == 68


def test_check_tensor_all_and_removed_functions():
    torch._check_tensor_all(torch.tensor([True]))
    with pytest.raises(RuntimeError, match="told"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "told")
    with pytest.raises(TypeError, match="cond tensor must have dtype torch.bool, but got torch.float32"):
        torch._check_tensor_all(torch.ones(1))
    torch._check_with(KeyError, True)
    torch._check_tensor_all_with(KeyError, torch.tensor([True]))
    with pytest.raises(KeyError, match="told"):
        torch._check_tensor_all_with(KeyError, torch.tensor([True, False]), lambda: "told")
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        torch._check_with(KeyError, 1)
    with pytest.raises(RuntimeError, match="This function was deprecated since version 1.9 and is now removed"):
        torch.ones(2, 2).symeig()


def test_weights_of_nll_loss():
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 3 classes or no classes"):
        torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(4))


def test_apply_checks_what_the_function_gives():
    assert torch.arange(4).view(2, 2).t().apply_(lambda v: v * 2).tolist() == [[0, 4], [2, 6]]
    with pytest.raises(TypeError, match="must be real number, not str"):
        torch.arange(4).apply_(lambda v: "text")


def test_redispatch_passes_over_one_level():
    from shim_torch.overrides import handle_torch_function, has_torch_function, redispatch_function

    called = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            called.append(func.__name__)
            return redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if has_torch_function((a, b)):
            return handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x, y = (torch.tensor([v]).as_subclass(Logging) for v in (3.0, 4.0))
    called.clear()
    result = scaled(x, y)
    assert called == ["scaled", "mul"] and type(result) is torch.Tensor and result.tolist() == [13.0]


def test_unions_of_weak_dictionaries():
    from shim_torch.utils.weak import WeakIdKeyDictionary

    a, b = torch.ones(1), torch.ones(1)
    one, two = WeakIdKeyDictionary({a: 1}), WeakIdKeyDictionary({a: 2, b: 3})
    assert dict((one | two).items())[a] == 2 and dict((two | one).items())[a] == 1 and len(one) == 1
    one |= two
    assert len(one) == 2
    with pytest.raises(TypeError):
        one | 3


def test_operators_that_consist_of_others():
    aten = torch.ops.aten
    assert aten.linear.default._can_decompose() and not aten.add.Tensor._can_decompose()
    assert aten.add.Tensor.decompose(1, 2) is NotImplemented
    assert aten.dropout.default.decompose(torch.ones(2), 0.0, False).tolist() == [1.0, 1.0]


def test_how_exponents_are_printed():
    """To PyTorch's float8_e8m0fnu zero is its smallest number, and NaN is finite."""
    nan = float("nan")
    for values, text in [
        ([2.0**-127, 8.0], "tensor([0., 8.], dtype=torch.float8_e8m0fnu)"),
        ([nan, 67108864.0], "tensor([          nan, 67108864.0000], dtype=torch.float8_e8m0fnu)"),
        (
            [nan, 128.0, 2.0**-10, 2.0**-17],
            "tensor([     nan, 128.0000,   0.0010,   0.0000], dtype=torch.float8_e8m0fnu)",
        ),
        ([128.0, 2.0**-10], "tensor([1.2800e+02, 9.7656e-04], dtype=torch.float8_e8m0fnu)"),
    ]:
        assert repr(torch.tensor(values, dtype=torch.float64).to(torch.float8_e8m0fnu)) == text
