"""What stands for operators gives what the operators give, and is written with others."""

import pytest

import shim_torch as torch
from shim_torch._decomp import core_aten_decompositions, decomposition_table, decompositions, get_decompositions
from shim_torch._impl.transforms.decompositions.formulas import FORMULAS
from shim_torch._impl.transforms.decompositions.table import overload
from shim_torch.utils._python_dispatch import TorchDispatchMode

X = torch.linspace(-2.5, 2.5, 12).reshape(3, 4)
Y = torch.linspace(0.2, 1.7, 12).reshape(3, 4).flip(0)
SQUARE = torch.arange(9.0).reshape(3, 3)
IMAGE = torch.arange(50.0).reshape(1, 2, 5, 5)
INDEX = torch.tensor([2, 0])
CASES = {
    "addcdiv": [((X, X, Y), {"value": 2})],
    "addcmul": [((X, X, Y), {"value": 3}), ((X.half(), X.half(), Y.half()), {})],
    "rsub.Tensor": [((X, Y), {"alpha": 2})],
    "heaviside": [((torch.tensor([-1.0, 0.0, 2.0, float("nan")]), torch.tensor(0.5)), {})],
    "lerp.Scalar": [((X, Y, 0.3), {}), ((X, Y, 0.8), {})],
    "lerp.Tensor": [((X, Y, Y), {})],
    "logaddexp": [((X, Y), {}), ((torch.tensor([float("inf")]), torch.tensor([float("inf")])), {})],
    "logaddexp2": [((X, Y), {})],
    "logit": [((Y / 2,), {}), ((Y, 0.3), {})],
    "sgn": [((X,), {}), ((torch.tensor([3 + 4j, 0j]),), {})],
    "sinc": [((torch.tensor([0.0, 0.5, 2.0]),), {})],
    "special_entr": [((X,), {}), ((torch.tensor([0.0, float("nan")]),), {})],
    "xlogy.Tensor": [((X, Y), {}), ((torch.zeros(2), torch.tensor([0.0, float("nan")])), {})],
    "special_xlog1py": [((X, Y), {})],
    "floor_divide": [((X, Y), {})],
    "threshold": [((X, 0.5, 7), {})],
    "softplus": [((X * 20, 2, 15), {})],
    "_prelu_kernel": [((X, Y), {})],
    "elu": [((X, 1.5, 2, 0.5), {})],
    "gelu": [((X,), {}), ((X,), {"approximate": "tanh"})],
    "leaky_relu": [((X, 0.2), {})],
    "addmm": [((SQUARE, SQUARE, SQUARE), {"beta": 0.5, "alpha": 2})],
    "addmv": [((SQUARE[0], SQUARE, SQUARE[1]), {"beta": 0})],
    "baddbmm": [
        ((SQUARE[None], SQUARE[None], SQUARE[None]), {"alpha": 2}),
        ((SQUARE[None].long(),) * 3, {"beta": 0.6, "alpha": 1.2}),
    ],
    "_unsafe_masked_index": [((X, X[:2] > 0, [torch.tensor([[0], [2]]), torch.arange(4)], 7), {})],
    "mv": [((SQUARE, SQUARE[1]), {})],
    "dot": [((SQUARE[0], SQUARE[1]), {})],
    "nansum": [((torch.tensor([1.0, float("nan")]),), {})],
    "count_nonzero": [((X > 0,), {})],
    "count_nonzero.dim_IntList": [((X > 0, [1]), {})],
    "all": [((X > 0,), {}), ((torch.ones(2, dtype=torch.uint8),), {})],
    "all.dim": [((X > -9, 1), {})],
    "logsumexp": [((X, [1]), {}), ((torch.full((2, 2), -float("inf")), [1], True), {})],
    "std.correction": [((X, [1]), {"correction": 0}), ((X,), {})],
    "masked_fill.Scalar": [((X, X > 0, 5), {})],
    "masked_fill.Tensor": [((X, X > 0, torch.tensor(5)), {})],
    "tril": [((X, 1), {})],
    "triu": [((X, -1), {})],
    "roll": [((X, [1, -2], [0, 1]), {}), ((X, [5], []), {})],
    "rot90": [((X, k, [0, 1]), {}) for k in range(4)],
    "take": [((X, torch.tensor([[0, -1], [5, 2]])), {})],
    "index_add": [((X, 0, INDEX, X[:2]), {"alpha": 2})],
    "index_copy": [((X, 1, INDEX, Y[:, :2]), {})],
    "index_fill.int_Scalar": [((X, 1, INDEX, 9), {})],
    "fill.Scalar": [((X, 7), {})],
    "fill.Tensor": [((X, torch.tensor(2)), {})],
    "isin.Tensor_Tensor": [((torch.arange(5), INDEX), {"invert": True})],
    "diag_embed": [((X, offset, 0, 2), {}) for offset in (-1, 0, 2)],
    "im2col": [((IMAGE, [2, 3], [1, 2], [1, 0], [2, 1]), {})],
    "col2im": [((torch.arange(72.0).reshape(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]), {})],
    "_softmax": [((X, 1, False), {}), ((X.bfloat16(), 0, False), {})],
    "_log_softmax": [((X, -1, False), {})],
    "native_layer_norm": [((X, [4], Y[0], X[0], 1e-5), {})],
    "native_group_norm": [((IMAGE, torch.ones(2) * 2, None, 1, 2, 25, 2, 1e-5), {})],
    "linalg_vector_norm": [((X, p, [1]), {}) for p in (0, 1, 2, 3.5, float("inf"), -float("inf"))],
    "gelu_backward": [((Y, X), {})],
    "mse_loss_backward": [((torch.tensor(2.0), X, Y, 1), {})],
    "nll_loss_forward": [((X, torch.tensor([1, 0, 3]), None, 1, -100), {})],
    "slice_backward": [((X, [3, 9], 1, 1, 9, 2), {})],
    "select_backward": [((X, [3, 2, 4], 1, 1), {})],
    "rrelu_with_noise_backward": [((X, Y, Y, 0.1, 0.3, True, False), {}), ((X, Y, Y, 0.1, 0.3, False, False), {})],
    "unsafe_split.Tensor": [((X, 3, 1), {})],
    "_unsafe_view": [((X, [4, 3]), {})],
}
PLAIN = "deg2rad rad2deg frac isneginf isposinf special_ndtr special_log_ndtr hardshrink softshrink mish hardsigmoid hardswish silu sum"
CASES |= {name: [((X,), {})] for name in PLAIN.split()}


class Seen(TorchDispatchMode):
    """Notes the operators that run."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_values_are_those_of_the_operator(name):
    op = overload(name)
    for args, kwargs in CASES[name]:
        expected = op(*args, **kwargs)
        with Seen() as seen:
            found = decomposition_table[op](*args, **kwargs)
        torch.testing.assert_close(found, expected, equal_nan=True)
        assert op not in seen.names and seen.names


def test_every_formula_has_a_case():
    missing = set(FORMULAS) - set(CASES) - {"all.dims", "index_fill.int_Tensor", "unsafe_split_with_sizes"}
    assert not missing


def test_forms_follow_from_the_functional_operator():
    aten = torch.ops.aten
    out, x = torch.empty(0), X.clone()
    assert decomposition_table[aten.silu.out](X, out=out) is out
    assert decomposition_table[aten.silu_.default](x) is x
    assert torch.equal(out, x) and torch.allclose(x, X * X.sigmoid())


def test_the_tables():
    aten = torch.ops.aten
    assert aten.gelu.default in decomposition_table and aten.gelu.default not in core_aten_decompositions()
    assert aten.silu_backward.default in core_aten_decompositions()
    assert set(get_decompositions([aten.addcmul])) >= {aten.addcmul.default}
    assert torch.equal(decompositions._softmax(X, 1, False), X.softmax(1))
    x = torch.zeros(1, 10)
    assert decompositions.index_copy_(torch.zeros(2, 10), 0, torch.tensor(1), x + 1).tolist()[1] == [1.0] * 10


def test_graphs_are_written_with_what_stands_for_operators():
    from shim_torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: torch.nn.functional.silu(x), decomposition_table=decomposition_table)(X)
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert torch.ops.aten.silu.default not in targets and torch.ops.aten.sigmoid.default in targets
    assert torch.allclose(graph(Y), Y * Y.sigmoid())


def test_operators_that_consist_of_others():
    aten = torch.ops.aten
    assert aten.linear.default._can_decompose() and not aten.add.Tensor._can_decompose()
    assert aten.add.Tensor.decompose(1, 2) is NotImplemented
    assert aten.dropout.default.decompose(torch.ones(2), 0.0, False).tolist() == [1.0, 1.0]
