"""What load_state_dict does with old checkpoints, meta tensors and swapped parameters; parameters in dicts."""

from __future__ import annotations

import gc
from collections import OrderedDict

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn import functional as F
from shim_torch.nn.attention.bias import causal_lower_right, causal_upper_left


def test_a_batch_norm_of_before_batches_were_counted():
    norm = nn.BatchNorm2d(3)
    norm(torch.ones(2, 3, 1, 1))
    state = norm.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    other = nn.BatchNorm2d(3)
    other.load_state_dict(state)
    assert other.num_batches_tracked.item() == 0 and other.running_mean.tolist() == pytest.approx([0.1] * 3)


def test_an_instance_norm_says_which_statistics_it_does_not_want():
    norm = nn.InstanceNorm1d(2)
    with pytest.raises(RuntimeError, match='Unexpected running stats buffer.s. "running_mean" for InstanceNorm1d'):
        norm.load_state_dict({"running_mean": torch.zeros(2)})


def test_all_keys_match():
    keys = nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2).state_dict())
    assert repr(keys) == str(keys) == "<All keys matched successfully>"
    keys = nn.Linear(2, 2).load_state_dict({}, strict=False)
    assert repr(keys) == "_IncompatibleKeys(missing_keys=['weight', 'bias'], unexpected_keys=[])" and keys[1] == []


def test_copying_into_a_meta_parameter_is_warned_of():
    layer = nn.Linear(2, 2, device="meta")
    state = nn.Linear(2, 2).state_dict()
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter in the checkpoint to a meta"):
        layer.load_state_dict(state)
    assert layer.weight.is_meta


def test_assigned_parameters_keep_whether_they_want_gradients():
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(False)
    given = nn.Parameter(torch.ones(2, 2))
    layer.load_state_dict({"weight": given, "bias": torch.zeros(2)}, assign=True)
    assert layer.weight is given and not given.requires_grad and layer.bias.requires_grad


def test_assigning_swaps_where_parameters_are_swapped():
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer = nn.Linear(2, 2)
        weight = layer.weight
        layer.load_state_dict({"weight": torch.full((2, 2), 3.0), "bias": torch.zeros(2)}, assign=True)
        assert layer.weight is weight and weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_loading_leaves_no_cycle():
    model, state = (
        nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).state_dict(),
    )
    model.load_state_dict(state)  # what is imported late leaves cycles once
    while gc.collect():  # what is collected may leave more
        pass
    model.load_state_dict(state)
    assert gc.collect() == 0


def test_a_replica_has_plain_attributes_for_parameters():
    layer = nn.ParameterDict({"a": torch.ones(2)})
    replica = layer._replicate_for_data_parallel()
    view = layer.a.view_as(layer.a)
    replica.a = view
    assert replica["a"] is view and list(replica.parameters()) == [] and "a" in dict(layer.named_parameters())


def test_parameter_dict_is_a_dict():
    d = nn.ParameterDict({"b": torch.ones(2), "a": 5})
    assert list(d) == ["a", "b"] and list(reversed(d)) == ["b", "a"]  # a plain dict's keys are sorted
    assert list(nn.ParameterDict(OrderedDict(b=1, a=2))) == ["b", "a"]
    joined = d | {"c": torch.zeros(1)}
    assert list(joined) == ["a", "b", "c"] and list(d) == ["a", "b"] and joined["b"] is d["b"]
    assert list({"z": 1} | d) == ["z", "a", "b"]
    d |= {"c": 7}
    assert d.popitem() == ("c", 7) and d.setdefault("a", 9) == 5 and d.setdefault("n") is None
    assert list(d.fromkeys(["x", "y"], 1).items()) == [("x", 1), ("y", 1)]
    assert repr(d.copy()).splitlines()[2] == "    (b): Parameter containing: [torch.FloatTensor of size 2]"
    d.clear()
    assert len(d) == 0 and list(d.parameters()) == []


def test_parameter_dict_says_what_is_wrong():
    d = nn.ParameterDict()
    with pytest.raises(TypeError, match="cannot be used as a key as it is not a string .type is 'int'."):
        d[1]
    with pytest.raises(AttributeError, match="'ParameterDict' object has no attribute 'q'"):
        d["q"]
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        d.update(1)
    with pytest.raises(TypeError, match="update sequence element #0 should be Iterable; isint"):
        d.update([1])
    with pytest.raises(ValueError, match="element #0 has length 3; 2 is required"):
        d.update([(1, 2, 3)])
    with pytest.raises(RuntimeError, match="ParameterDict should not be called"):
        d()


@pytest.mark.parametrize("make, diagonal", [(causal_upper_left, 0), (causal_lower_right, 2)])
def test_causal_biases_are_what_their_masks_say(make, diagonal):
    q, k, v = torch.randn(1, 3, 4), torch.randn(1, 5, 4), torch.randn(1, 5, 4)
    bias = make(3, 5)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(diagonal)
    assert bias._materialize().equal(mask) and repr(bias) == repr(mask)
    got = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    assert torch.allclose(got, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=True)
    with pytest.raises(AssertionError, match="only supports 2D tensors"):
        make(3)
