"""Operators of a compiled library, called from Python and calling back."""

import ctypes
import gc
import threading
import warnings

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def test_kernel_runs_and_its_memory_lives_as_long_as_the_tensor(ops):
    x = torch.arange(5, dtype=torch.float32)
    y = ops.twice(x)
    view = y[1:3]
    del y
    gc.collect()
    assert view.tolist() == [2.0, 4.0]
    assert ops.twice.default(x).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert str(ops.twice.default._schema) == "abi_test::twice(Tensor x) -> Tensor"


def test_values_of_every_kind_come_back(ops):
    x = torch.ones(2)
    given = (
        -(2**62),
        0.1,
        True,
        "naïve",
        torch.bfloat16,
        torch.device("cuda", 3),
        torch.channels_last,
        torch.strided,
        x,
    )
    back = ops.echo(*given)
    numbers = (15, 2, 0)  # a returned dtype, memory format or layout is a number, as with PyTorch
    assert (*back[:4], back[5]) == (*given[:4], given[5]) and (back[4], back[6], back[7]) == numbers
    assert back[8] is x
    assert ops.echo(1, 2.0, False, "", torch.float8_e4m3fn, "cpu", torch.contiguous_format, torch.strided, x)[
        5
    ] == torch.device("cpu")


def test_optional_values(ops):
    x = torch.ones(2)
    assert ops.echo.optional(None, None, None, None, None, None, None) == (None,) * 7
    given = (7, 1e300, False, "s", torch.int8, torch.device("cpu"), x)
    back = ops.echo.optional(*given)
    assert (*back[:4], back[5]) == (*given[:4], given[5]) and back[4] == 1 and back[6] is x


def test_lists(ops):
    x, y = torch.ones(2), torch.zeros(3)
    back = ops.echo.list([1, -2], [0.5], [True, False], ["a", ""], [x, y], [x, None], None, 4)
    assert back[:4] == ([1, -2], [0.5], [True, False], ["a", ""])
    assert back[4][0] is x and back[4][1] is y and back[5][0] is x and back[5][1] is None
    assert back[6] is None and back[7] == [4, 4, 4]
    assert ops.echo.list([], [], [], [], [], [], [3], None)[4:] == ([], [], [3], None)


def test_every_reference_is_given_back(ops):
    x = torch.ones(2)
    before = _core.use_count(x) if hasattr(_core, "use_count") else None
    for _ in range(100):
        ops.echo.list([1], [], [], ["a"], [x] * 3, [x, None], None, None)
        with pytest.raises(TypeError):
            ops.echo.list([1], [], [], ["a"], [x, 3], [x], None, None)
    if before is not None:
        assert _core.use_count(x) == before


def test_exceptions_of_the_kernel_become_runtime_errors(ops):
    with pytest.raises(RuntimeError, match="^the kernel's own text$"):
        ops.fails("the kernel's own text")
    with pytest.raises(RuntimeError, match="no_such_operator"):
        ops.call_unknown(torch.ones(1))
    with pytest.raises(
        RuntimeError, match="aoti_torch_proxy_executor_call_function: this function .* is not supported by shim-torch"
    ):
        ops.call_missing()
    with pytest.raises(RuntimeError, match="undefined Tensor"):
        ops.use_nothing()


@pytest.mark.parametrize("kind,expected", enumerate([IndexError, ValueError, OverflowError, RuntimeError]))
def test_the_standard_library_s_exceptions_are_python_s(ops, kind, expected):
    with pytest.raises(expected, match="^the kernel's ") as caught:
        ops.fails_like(kind)
    assert caught.type is expected


def test_errors_of_our_operators_reach_the_caller_through_the_kernel(ops):
    assert ops.multiply(torch.tensor([2.0]), torch.tensor([3.0])).tolist() == [6.0]
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        ops.multiply(torch.ones(2), torch.ones(3))


def test_undefined_tensor_is_none(ops):
    assert ops.nothing() is None


def test_library_calls_its_own_operator(ops):
    assert ops.call_own(torch.ones(2)).tolist() == [2.0, 2.0]


def test_parallel_for(ops):
    assert ops.sum_squares(4096) == sum(i * i for i in range(4096))
    assert ops.sum_squares(0) == 0.0


def test_in_place_operator_returns_its_argument_and_counts_the_write(ops):
    x = torch.ones(2)
    version = x._version
    assert ops.tagged(x) is x
    assert x._version == version + 1
    assert ops.tagged.default.tags == [torch.Tag.pointwise] and ops.twice.default.tags == []


def test_missing_kernels_and_arguments(ops):
    with pytest.raises(
        NotImplementedError, match="Could not run 'abi_test::undone' with arguments from the 'CPU' backend"
    ):
        ops.undone(torch.ones(1))
    with pytest.raises(RuntimeError, match=r"abi_test::three\(\) is missing value for argument 'b'"):
        ops.three(torch.ones(1))
    with pytest.raises(AttributeError):
        ops.not_there


def test_kernels_as_objects(ops):
    (kernel,) = _core.kernels_of("abi_test::three", "").values()
    a, b, c = (torch.full((1,), float(i)) for i in range(3))
    assert kernel(a, b, c=c).tolist() == kernel(c=c, b=b, a=a).tolist() == [0.0]  # it gives its first
    assert repr(kernel) == "<compiled kernel of abi_test::three>"
    for given, wrong in (((a, b, c), {"d": 1}), ((a, b, c), {"a": a}), ((a,), {"b": b, "c": c, "d": 1})):
        word = [*wrong][-1]
        with pytest.raises(TypeError, match=rf"three>\(\) got an unexpected keyword argument '{word}'"):
            kernel(*given, **wrong)
    with pytest.raises(TypeError, match="abi_test::three: the kernel misses its argument 'c'"):
        kernel(a, b)
    with pytest.raises(TypeError, match="abi_test::three: the kernel takes 3 arguments, got 4"):
        kernel(a, b, c, c)


def test_definitions_and_kernels_meet_in_either_order(library):
    first = torch.library.Library("abi_python", "FRAGMENT")
    first.define("before(Tensor x) -> Tensor")
    torch.ops.load_library(library)
    first.define("after(Tensor x) -> Tensor")
    x = torch.ones(3)
    assert torch.ops.abi_python.before(x).tolist() == [2.0, 2.0, 2.0]
    assert torch.ops.abi_python.after(x).tolist() == [2.0, 2.0, 2.0]


def test_python_adds_fake_and_gradient_to_a_compiled_operator(ops):
    torch.library.register_fake("abi_test::twice", lambda x: torch.empty_like(x))
    torch.library.register_autograd("abi_test::twice", lambda ctx, g: g * 2)
    assert ops.twice(torch.empty(7, device="meta")).shape == (7,)
    x = torch.ones(2, requires_grad=True)
    ops.call_own(x)  # the compiled call goes through the same table
    ops.twice(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_kernels_run_without_the_gil_on_many_threads(ops):
    x = torch.arange(1000, dtype=torch.float32)
    failures = []

    def work():
        for _ in range(50):
            if ops.multiply(ops.twice(x), ops.twice(x)).sum().item() != float((4 * x * x).sum()):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_second_load_changes_nothing(library, ops):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ops.load_library(library)
        torch.ops.load_library(str(library))
    assert ops.twice(torch.ones(1)).tolist() == [2.0]
    assert str(library) in torch.ops.loaded_libraries


def test_stand_ins_are_private():
    with pytest.raises(AttributeError):
        ctypes.CDLL(None).aoti_torch_get_dim
