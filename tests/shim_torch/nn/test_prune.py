"""torch.nn.utils.prune: masks, what is kept of earlier ones, what is refused. Facts of PyTorch 2.13."""

import pytest

import shim_torch as torch
from shim_torch.nn.utils import prune

nn = torch.nn


def layer():
    made = nn.Linear(4, 3)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[1.0, -6.0, 0.1, 3.0], [-0.2, 0.3, 2.0, -0.4], [5.0, 4.0, -7.0, 0.5]]))
    return made


@pytest.mark.parametrize(
    ("amount", "dropped"), [(0, []), (3, [2, 4, 5]), (0.25, [2, 4, 5]), (0.3, [2, 4, 5, 7]), (1.0, list(range(12)))]
)
def test_the_smallest_entries_go(amount, dropped):
    pruned = prune.l1_unstructured(layer(), "weight", amount)
    assert (pruned.weight_mask.flatten() == 0).nonzero().flatten().tolist() == dropped
    assert torch.equal(pruned.weight, pruned.weight_orig * pruned.weight_mask)


@pytest.mark.parametrize(
    ("amount", "n", "dim", "dropped"),
    [(1, 2, 0, [1]), (2, 1, 0, [0, 1]), (0.5, float("inf"), 1, [0, 3]), (1, 2, -1, [3]), (0, 2, 0, [])],
)
def test_the_channels_of_the_least_norm_go(amount, n, dim, dropped):
    mask = prune.ln_structured(layer(), "weight", amount, n, dim).weight_mask
    gone = (mask == 0).all(1 - dim % 2)
    assert (
        gone.nonzero().flatten().tolist() == dropped
        and int((mask == 0).sum()) == len(dropped) * mask.shape[1 - dim % 2]
    )


def test_random_masks_drop_as_many_as_told():
    assert int(prune.random_unstructured(layer(), "weight", 5).weight_mask.sum()) == 7
    channels = prune.random_structured(layer(), "weight", 0.5, 1).weight_mask
    assert sorted(channels.sum(0).tolist()) == [0, 0, 3, 3]


def test_scores_stand_in_for_the_tensor():
    scores = torch.arange(12.0).reshape(3, 4)
    assert prune.l1_unstructured(layer(), "weight", 4, importance_scores=scores).weight_mask[0].tolist() == [0] * 4
    with pytest.raises(
        AssertionError, match=r"same shape as parameter weight of Linear\(.*got .*\[12\].* vs .*\[3, 4\]"
    ):
        prune.l1_unstructured(layer(), "weight", 4, importance_scores=scores.flatten())
    with pytest.raises(AssertionError, match="same shape as tensor t, got"):
        prune.L1Unstructured(3).prune(torch.arange(8.0), importance_scores=torch.arange(7.0))
    assert prune.L1Unstructured(2).prune(torch.arange(4.0), importance_scores=-torch.arange(4.0)).tolist() == [
        0,
        0,
        2,
        3,
    ]


def test_a_structured_mask_has_the_scores_dtype_and_another_the_masks():
    given = torch.ones(2, 4, dtype=torch.float64)
    assert prune.LnStructured(1, 2).compute_mask(torch.arange(8.0).reshape(2, 4), given).dtype == torch.float32
    assert prune.L1Unstructured(1).compute_mask(torch.arange(8.0).reshape(2, 4), given).dtype == torch.float64
    assert given.tolist() == [[1.0] * 4] * 2


def test_a_second_method_goes_on_with_what_is_left():
    pruned = prune.l1_unstructured(layer(), "weight", 3)
    prune.ln_structured(pruned, "weight", 1, 2, 0)
    assert pruned.weight_mask.tolist() == [[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]
    prune.custom_from_mask(pruned, "weight", torch.ones(3, 4).tril())
    assert pruned.weight_mask.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    (hook,) = pruned._forward_pre_hooks.values()
    assert [type(m).__name__ for m in hook] == ["L1Unstructured", "LnStructured", "CustomFromMask"]
    assert len(hook) == 3 and hook._tensor_name == "weight"
    with pytest.raises(ValueError, match="amount=5 should be smaller than the number of parameters to prune=4"):
        prune.l1_unstructured(pruned, "weight", 5)


class Failing(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        raise ValueError("no mask")


class Misshapen(Failing):
    def compute_mask(self, t, default_mask):
        return torch.ones(7)


@pytest.mark.parametrize("method", [Failing, Misshapen])
def test_a_method_that_fails_leaves_the_parameter(method):
    made = layer()
    weight = made.weight
    with pytest.raises((ValueError, RuntimeError)):
        method.apply(made, "weight")
    assert made.weight is weight and sorted(made._parameters) == ["bias", "weight"] and not prune.is_pruned(made)


class Odd(prune.BasePruningMethod):
    PRUNING_TYPE = "odd"

    def compute_mask(self, t, default_mask):
        return default_mask


def test_refusals():
    pruned = prune.identity(layer(), "weight")
    with pytest.raises(ValueError, match="Unrecognized PRUNING_TYPE odd"):
        Odd.apply(pruned, "weight")
    with pytest.raises(TypeError, match="is not a BasePruningMethod subclass"):
        prune.PruningContainer().add_pruning_method(3)
    first, second = prune.L1Unstructured(1), prune.L1Unstructured(1)
    first._tensor_name, second._tensor_name = "a", "b"
    with pytest.raises(ValueError, match="Can only add pruning methods acting on the parameter named 'a'"):
        prune.PruningContainer(first).add_pruning_method(second)
    with pytest.raises(IndexError, match="Invalid index 2 for tensor of size"):
        prune.ln_structured(layer(), "weight", 1, 2, 2)
    with pytest.raises(AssertionError, match=r"default_mask shape .* must match self.mask shape .*\[3\]"):
        prune.custom_from_mask(layer(), "weight", torch.ones(3))
    with pytest.raises(
        ValueError, match="Parameter 'bias' of module .* has to be pruned before pruning can be removed"
    ):
        prune.remove(pruned, "bias")
    twice = prune.identity(layer(), "weight")
    hook = prune.L1Unstructured(1)
    hook._tensor_name = "weight"
    twice.register_forward_pre_hook(hook)
    with pytest.raises(AssertionError, match="Avoid adding multiple pruning hooks to the same"):
        prune.identity(twice, "weight")
    for amount, error in (("x", TypeError), (-1, ValueError), (1.5, ValueError)):
        with pytest.raises(error, match="amount"):
            prune.L1Unstructured(amount)


def test_removed_pruning_is_permanent():
    pruned = layer()
    weight = pruned.weight
    prune.l1_unstructured(pruned, "weight", 3)
    prune.remove(pruned, "weight")
    assert pruned.weight is weight and not pruned._forward_pre_hooks and not pruned._buffers
    assert pruned.weight.tolist()[1] == pytest.approx([0.0, 0.0, 2.0, -0.4])
    assert sorted(pruned.state_dict()) == ["bias", "weight"]


def test_several_parameters_as_one():
    first, second = layer(), layer()
    prune.l1_unstructured(first, "weight", 2)
    pairs = ((first, "weight"), (second, "weight"))
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=6)
    assert int(first.weight_mask.sum()) + int(second.weight_mask.sum()) == 24 - 2 - 6
    assert first.weight_mask[1].tolist() == [0, 0, 1, 0] and second.weight_mask[1].tolist() == [0, 0, 1, 0]
    other = layer()
    scores = {(other, "weight"): torch.arange(12.0).reshape(3, 4)}
    prune.global_unstructured([(other, "weight")], prune.L1Unstructured, importance_scores=scores, amount=4)
    assert other.weight_mask.tolist() == [[0] * 4, [1] * 4, [1] * 4]
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported'):
        prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)
    with pytest.raises(TypeError, match="parameters is not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)
    with pytest.raises(TypeError, match="importance_scores must be of type dict"):
        prune.global_unstructured(pairs, prune.L1Unstructured, importance_scores=[1], amount=1)
