"""What __torch_function__ is shown by functions written in Python: the function itself, tensors by place, the rest by name."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn
from shim_torch.overrides import TorchFunctionMode


class Seen:
    """Answers every function with what was called."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, len(args), sorted(kwargs or {})


S = Seen()
POOL = ["ceil_mode", "dilation", "padding", "return_indices", "stride"]


@pytest.mark.parametrize(
    ("name", "tensors", "places", "named"),
    [
        ("relu", 1, 1, ["inplace"]),
        ("threshold", 3, 3, ["inplace"]),
        ("glu", 1, 1, ["dim"]),
        ("softmax", 1, 1, ["_stacklevel", "dim", "dtype"]),
        ("dropout", 1, 1, ["inplace", "p", "training"]),
        ("dropout2d", 1, 1, ["inplace", "p", "training"]),
        ("alpha_dropout", 1, 1, ["inplace", "p", "training"]),
        ("max_pool2d", 2, 2, POOL),
        ("max_pool1d_with_indices", 2, 2, POOL),
        ("adaptive_max_pool3d", 2, 2, ["return_indices"]),
        ("adaptive_avg_pool2d", 2, 2, []),
        ("max_unpool1d", 3, 3, ["output_size", "padding", "stride"]),
        ("lp_pool2d", 3, 3, ["ceil_mode", "stride"]),
        ("fractional_max_pool2d", 2, 2, ["_random_samples", "output_ratio", "output_size", "return_indices"]),
        ("l1_loss", 2, 2, ["reduce", "reduction", "size_average"]),
        ("mse_loss", 2, 2, ["reduce", "reduction", "size_average", "weight"]),
        ("triplet_margin_loss", 3, 3, ["eps", "margin", "p", "reduce", "reduction", "size_average", "swap"]),
        ("cosine_embedding_loss", 3, 3, ["margin", "reduce", "reduction", "size_average"]),
        ("layer_norm", 2, 2, ["bias", "eps", "weight"]),
        ("batch_norm", 3, 3, ["bias", "eps", "momentum", "training", "weight"]),
        ("pad", 2, 2, ["mode", "value"]),
        ("prelu", 2, 2, []),
        ("avg_pool2d", 2, 2, []),
    ],
)
def test_functions_of_layers(name, tensors, places, named):
    function = getattr(F, name)
    assert function(*[S] * tensors) == (function, places, named)


@pytest.mark.parametrize(
    ("name", "tensors", "places", "named"),
    [
        ("split", 2, 2, ["dim"]),
        ("norm", 1, 1, ["dim", "dtype", "keepdim", "out", "p"]),
        ("unique", 1, 1, ["dim", "return_counts", "return_inverse", "sorted"]),
        ("cdist", 2, 2, ["compute_mode", "p"]),
        ("tensordot", 2, 2, ["dims", "out"]),
        ("meshgrid", 1, 1, ["indexing"]),
        ("lu", 1, 1, ["get_infos", "out", "pivot"]),
        ("atleast_2d", 1, 1, []),
        ("chain_matmul", 1, 1, []),
        ("conj", 1, 1, []),
        ("is_floating_point", 1, 1, []),
        ("kl_div", 2, 2, []),
        ("nonzero", 1, 1, []),
    ],
)
def test_functions_of_torch(name, tensors, places, named):
    function = getattr(torch, name)
    assert function(*[S] * tensors) == (function, places, named)


def test_unraveling_and_initialisation():
    assert torch.unravel_index(S, (2, 3)) == (torch.unravel_index, 1, ["shape"])
    assert nn.init.uniform_(S) == (nn.init.uniform_, 0, ["a", "b", "generator", "tensor"])
    assert nn.init.constant_(S, 1.0) == (nn.init.constant_, 0, ["tensor", "val"])


def test_a_mode_sees_the_function_once():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    y = -x
    with Mode():
        got = F.l1_loss(x, y), F.softmax(x, 1), torch.split(x, 1), nn.ReLU()(x)
    assert seen == [F.l1_loss, F.softmax, torch.split, F.relu]
    assert got[0].item() == 5.0 and got[3].tolist() == [[1.0, 0.0], [3.0, 4.0]]
    torch.testing.assert_close(got[1], x.softmax(1))


def test_a_subclass_keeps_its_type():
    class Sub(torch.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.arange(6.0).reshape(2, 3).as_subclass(Sub)
    pooled = F.max_pool1d(x, 3)
    assert type(pooled) is Sub and Sub.calls == [F.max_pool1d]
    values, places = F.max_pool1d(x, 3, return_indices=True)
    assert Sub.calls[1] is F.max_pool1d_with_indices
    assert type(torch.norm(x)) is Sub and type(x.norm()) is Sub and type(x.unique()) is Sub
    assert torch.norm is not torch.Tensor.norm and torch.unique is not torch.Tensor.unique


def test_an_override_may_stand_for_any_argument():
    x = torch.ones(2, 2)
    assert torch.chunk(x, S)[0] is torch.chunk
    assert torch.zeros([2, S])[0] is torch.zeros
    assert x.view(2, S)[1] == 3
    assert torch.sum(x, 0, keepdim=S)[0] is torch.sum
    sized = torch.tensor(2).as_subclass(
        type("Sub", (torch.Tensor,), {"__torch_function__": classmethod(lambda *a, **k: "asked")})
    )
    assert torch.zeros(sized) == "asked" and x.expand(sized, 2) == "asked"
    with torch._C.DisableTorchFunctionSubclass(), pytest.raises(TypeError, match="must be int, not Seen"):
        torch.chunk(x, S)


def test_true_is_a_size_after_the_first():
    assert torch.zeros(2, True).shape == (2, 1) and torch.ones((3, True, False)).shape == (3, 1, 0)
    assert torch.ones(2).expand(3, 2).repeat(1, True).shape == (3, 2)
    with pytest.raises(TypeError):
        torch.zeros(True)
    assert torch.ones(3, 4).var(0, True).shape == (4,)


def test_a_gradient_of_what_is_no_tensor_but_has_parts():
    class Pair(Seen):
        def __iter__(self):
            return iter((1, 2))

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, [len(a) for a in args], [type(a[0]) for a in args]

    assert torch.autograd.grad(Pair(), Pair()) == (torch.autograd.grad, [1, 1], [Pair, Pair])


def test_sums_as_truth():
    x = torch.tensor([[1, 0], [0, 0]])
    for values in (x, x.bool(), x.double()):
        for add in (torch.sum, torch.nansum):
            got = add(values, 1, dtype=torch.bool)
            assert got.dtype == torch.bool and got.tolist() == [True, False]
    assert torch.sum(x, 1, keepdim=True, out=torch.empty(2, 1, dtype=torch.bool)).tolist() == [[True], [False]]
    assert x.nansum(dtype=torch.bool).item() is True


def test_functions_are_made_overridable_by_their_relevant_arguments():
    class Answers:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, len(args), sorted(kwargs)

    @torch.overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def function(a, b=None):
        """Told."""
        return a, b

    assert function(1) == (1, None) and function(1, b=2) == (1, 2)
    assert function(Answers()) == (function, (Answers,), 1, [])
    assert function(1, b=Answers()) == (function, (Answers,), 1, ["b"])
    assert (function.__name__, function.__doc__) == ("function", "Told.") and function.__wrapped__ is not function


@pytest.mark.parametrize("name", ["stack", "where", "conv1d", "_weight_norm"])
def test_functions_called_inside_are_those_that_torch_shows(name):
    from shim_torch._impl.table import calls

    assert getattr(calls.torch, name) is getattr(torch._C._VariableFunctions, name)


def test_stack_of_modes_lists_the_modes_in_order():
    class Passing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Passing() as outer, Passing() as inner:
        assert torch.overrides._get_current_function_mode_stack() == [outer, inner]
        with pytest.raises(IndexError, match="torch function mode stack"):
            torch._C._get_function_stack_at(2)


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
