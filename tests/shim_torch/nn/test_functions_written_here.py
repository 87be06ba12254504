"""Functions of torch.nn.functional, torch.nn.parallel and parameters that are written in Python. Facts of PyTorch 2.13."""

import collections

import pytest

import shim_torch as torch
from shim_torch.nn import parallel
from shim_torch.nn.parallel import comm, scatter_gather
from shim_torch.nn.parallel.parallel_apply import parallel_apply

nn, F = torch.nn, torch.nn.functional
X = torch.arange(6.0).reshape(2, 3) / 3 - 1
TARGET = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
ROWS = torch.arange(24.0).reshape(6, 4)
Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize("var", [0.5, torch.tensor([1.0, 2.0])])
def test_variances_of_elements_and_rows(var):
    got = F.gaussian_nll_loss(X, TARGET, var, reduction="none")
    spread = torch.full((2, 3), var) if isinstance(var, float) else var[:, None].expand(2, 3)
    assert torch.allclose(got, 0.5 * (spread.log() + (X - TARGET) ** 2 / spread))
    assert got.sum() == F.gaussian_nll_loss(X, TARGET, var, reduction="sum")
    whole = F.gaussian_nll_loss(X, TARGET, var, full=True)
    assert whole.item() == pytest.approx(got.mean().item() + 0.9189385, abs=1e-5)


def test_a_variance_below_eps_keeps_its_gradient():
    var = torch.tensor([0.5, 1e-9], requires_grad=True)
    F.gaussian_nll_loss(torch.zeros(2), torch.ones(2), var, eps=1e-3, reduction="sum").backward()
    assert var.grad.tolist() == pytest.approx([-1.0, 0.5 * (1e3 - 1e6)], rel=1e-4) and var[1].item() < 1e-8


@pytest.mark.parametrize(
    "var", [torch.ones(3), torch.ones(3, 3), torch.ones(1, 1), torch.ones(3, 1), torch.ones(2, 3, 1)]
)
def test_variances_of_other_shapes(var):
    with pytest.raises(ValueError, match="var is of incorrect size"):
        F.gaussian_nll_loss(X, TARGET, var)


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda: F.gaussian_nll_loss(X, TARGET, -1.0), ValueError, "var has negative entry/entries"),
        (lambda: F.gaussian_nll_loss(X, TARGET, 1.0, reduction="x"), ValueError, "x is not valid"),
        (lambda: F.multi_margin_loss(X, torch.tensor([0, 2]), p=3), ValueError, "only p == 1 and p == 2 supported"),
        (lambda: F.multi_margin_loss(X, torch.tensor([0, 2]), weight=torch.ones(1, 3)), ValueError, "must be one-dim"),
        (
            lambda: F.binary_cross_entropy_with_logits(X, TARGET[0]),
            ValueError,
            r"Target size .*\[3\].* must be the same",
        ),
        (lambda: F.binary_cross_entropy(X.sigmoid(), TARGET[0]), ValueError, "is deprecated. Please ensure they have"),
        (lambda: F.embedding(torch.tensor([0]), ROWS, 6), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda: F.embedding(torch.tensor([0]), ROWS, -7), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda: F.group_norm(torch.ones(3), 3), RuntimeError, "at least 2 dimensions for input tensor but received 1"),
        (lambda: F.group_norm(torch.ones(1, 3, 1), 3), ValueError, r"than 1 value per channel .* size \[1, 3, 1\]"),
        (
            lambda: F.instance_norm(torch.ones(2, 3, 1)),
            ValueError,
            "Expected more than 1 spatial element when training",
        ),
        (
            lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True),
            ValueError,
            "than 1 value per channel when",
        ),
        (lambda: F.embedding_bag(torch.tensor([[1]]), ROWS, torch.tensor([0])), ValueError, "offsets has to be None"),
        (lambda: F.embedding_bag(torch.tensor([1]), ROWS), ValueError, "offsets has to be a 1D Tensor but got None"),
        (
            lambda: F.embedding_bag(torch.tensor([[1]]), ROWS, mode="max", sparse=True),
            ValueError,
            "support sparse weights",
        ),
        (
            lambda: parallel.gather([{"a": 1, "b": 2}, {"a": 1}], "cpu"),
            ValueError,
            "All dicts must have the same number",
        ),
        (lambda: comm.reduce_add([torch.ones(2)]), AssertionError, "input 0 is on CPU"),
        (
            lambda: comm.reduce_add([torch.ones(2, device="meta"), torch.ones(3, 1, device="meta")]),
            ValueError,
            "got 3x1, bu",
        ),
    ],
)
def test_refused(run, error, words):
    with pytest.raises(error, match=words):
        run()


def test_weights_of_classes():
    weighted = F.multi_margin_loss(X, torch.tensor([0, 2]), weight=torch.tensor([1.0, 2.0, 3.0]), reduction="none")
    assert weighted.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
    assert F.multi_margin_loss(X, torch.tensor([0, 2]), p=2, reduction="sum").item() == pytest.approx(46 / 27)


def test_distances_of_the_nearer_negative():
    anchor, positive, negative = (
        torch.zeros(2, 2),
        torch.tensor([[3.0, 4.0]] * 2),
        torch.tensor([[3.0, 3.0], [6.0, 8.0]]),
    )
    plain = F.triplet_margin_with_distance_loss(anchor, positive, negative, reduction="none")
    assert plain.tolist() == pytest.approx([6 - 18**0.5, 0.0], abs=1e-4)
    swapped = F.triplet_margin_with_distance_loss(anchor, positive, negative, swap=True, reduction="none")
    assert swapped.tolist() == pytest.approx([5.0, 1.0], abs=1e-4)


def test_bags_with_their_arguments_swapped_warn():
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        got = F.embedding_bag(ROWS, torch.tensor([[0, 2], [5, 5]]), mode="sum")
    assert got.tolist() == [[8.0, 10.0, 12.0, 14.0], [40.0, 42.0, 44.0, 46.0]]
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    got = F.embedding_bag(torch.tensor([[0, 2], [5, 5]]), ROWS, mode="sum", per_sample_weights=weights)
    assert got.tolist() == [ROWS[0].tolist(), ROWS[5].tolist()]


@pytest.mark.parametrize("padding", [1, -5])
def test_the_padding_row_has_no_gradient(padding):
    rows = ROWS.clone().requires_grad_()
    F.embedding(torch.tensor([0, 1, 1]), rows, padding_idx=padding).sum().backward()
    assert rows.grad.sum(1).tolist() == [4.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_unit_lengths():
    got = F.normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert got.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 0.0]]
    out = torch.empty(1, 2)
    assert F.normalize(torch.tensor([[3.0, 1.0]]), p=1.0, out=out) is out and out.tolist() == [[0.75, 0.25]]
    assert F.normalize(torch.tensor([3.0, 4.0]), dim=0, eps=10.0).tolist() == pytest.approx([0.3, 0.4])


@pytest.mark.parametrize("dim", [0, 1])
def test_gumbel_samples(dim):
    logits = torch.tensor([[0.0, 50.0], [50.0, 0.0]], requires_grad=True)
    soft = F.gumbel_softmax(logits, tau=5.0, dim=dim)
    assert torch.allclose(soft.sum(dim), torch.ones(2)) and bool((soft > 0).all())
    hard = F.gumbel_softmax(logits, hard=True, dim=dim)
    assert hard.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    (F.gumbel_softmax(logits, tau=50.0, hard=True, dim=dim) * torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum().backward()
    assert torch.allclose(logits.grad.sum(dim), torch.zeros(2), atol=1e-6) and logits.grad.abs().sum() > 0
    samples = F.gumbel_softmax(torch.tensor([0.0, 3.0**0.5]).expand(4000, 2), hard=True).mean(0)
    assert samples[1].item() == pytest.approx(1 / (1 + 2.718281828 ** -(3.0**0.5)), abs=0.04)
    with pytest.warns(UserWarning, match="`eps` parameter is deprecated and has no effect"):
        F.gumbel_softmax(logits, eps=1e-3)


def test_arguments_for_every_device():
    cut = scatter_gather.scatter_kwargs
    assert cut((1, 2), {"a": 3}, [0, 1]) == (((1, 2), (1, 2)), ({"a": 3}, {"a": 3}))
    assert cut((1, 2), None, [0, 1]) == (((1, 2), (1, 2)), ({}, {})) and cut((), {}, [0, 1]) == ((), ())
    assert cut(None, {"a": [1, {"b": 2}]}, [0]) == (((),), ({"a": [1, {"b": 2}]},))
    given = [1, (2, Pair(3, "x")), collections.OrderedDict(a=[]), ()]
    assert parallel.scatter(given, [0, 1]) == [given, given]
    assert type(parallel.scatter(given, [0])[0][2]) is collections.OrderedDict


def test_what_is_gathered_looks_as_its_parts():
    assert parallel.gather([[None, Pair(None, (None,))]] * 2, "cpu") == [None, Pair(None, (None,))]
    assert parallel.gather([{"a": None}] * 2, "cpu") == {"a": None}


def test_as_many_inputs_as_modules():
    for name, given in (("inputs", ([1, 2],)), ("kwargs_tup", ([1], [{}, {}])), ("devices", ([1], None, [0, 1]))):
        with pytest.raises(AssertionError, match=f"number of modules 1 is not equal to the number of {name} 2"):
            parallel_apply([nn.Identity()], *given)


class Kept(torch.Tensor):
    pass


class Own(nn.Parameter):
    pass


@pytest.mark.parametrize("grad", [True, False])
def test_what_becomes_a_parameter(grad):
    plain = torch.ones(3)
    made = nn.Parameter(plain, grad)
    assert type(made) is nn.Parameter and made.requires_grad == grad and made.data_ptr() == plain.data_ptr()
    assert type(Own(nn.Parameter(plain), grad)) is Own and nn.Parameter().shape == (0,)
    marked = nn.Parameter(plain.as_subclass(Kept), grad)
    assert (
        type(marked) is Kept and isinstance(marked, nn.Parameter) and marked.requires_grad == grad and marked._is_param
    )
    with pytest.raises(
        RuntimeError, match="type Own requires that detach.*type Tensor was found.*please correct the detach"
    ):
        nn.Parameter(Own(plain))


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_shapes_that_come_later(kind):
    made = kind(dtype=torch.float16)
    made.materialize((2, 3))
    assert made.shape == (2, 3) and made.dtype == torch.float16 and type(made) is kind.cls_to_become
    assert made.requires_grad == (kind is nn.UninitializedParameter)
    other = kind()
    other.materialize(4, dtype=torch.float64)
    assert other.shape == (4,) and other.dtype == torch.float64
