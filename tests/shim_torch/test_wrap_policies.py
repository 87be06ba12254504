"""torch.distributed.fsdp.wrap: which modules policies choose, and wrapping by any class."""

import functools

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.distributed.fsdp import api, wrap


class Wrapper(nn.Module):
    def __init__(self, module, tag=None):
        super().__init__()
        self.module, self.tag = module, tag


def make():
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.ModuleList([nn.Linear(8, 2)]))


def recursive(policy, **kwargs):
    return wrap._recursive_wrap(make(), policy, Wrapper, set(), set(), **kwargs)


def test_modules_of_a_size_are_wrapped_children_first():
    policy = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=20)
    made, n = recursive(policy, tag="t")
    # 20 elements of the first layer, 40 of the inner one; the 18 of the list are left over
    assert (n, type(made)) == (60, nn.Sequential)
    assert [type(m) for m in made] == [Wrapper, nn.Sequential, nn.ModuleList]
    assert type(made[1][0]) is Wrapper and made[0].tag == "t" and type(made[2][0]) is nn.Linear


def test_modules_of_a_class_and_their_children_only():
    policy = functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential})
    made, n = recursive(policy)
    assert n == 78 and type(made) is Wrapper and type(made.module[1]) is Wrapper
    made, n = recursive(wrap.ModuleWrapPolicy([nn.Sequential]), only_wrap_children=True)
    assert n == 40 and type(made) is nn.Sequential and type(made[1]) is Wrapper
    either = functools.partial(
        wrap._or_policy,
        policies=[
            functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.ReLU)),
            functools.partial(wrap._wrap_module_cls_individually, transformer_layer_cls=[nn.ModuleList]),
        ],
    )
    made, _ = recursive(either)
    assert [type(m) for m in made] == [nn.Linear, nn.Sequential, Wrapper] and type(made[1][1]) is Wrapper


def test_wrapped_children_are_refused():
    outer = nn.Sequential(Wrapper(nn.Linear(2, 2)))
    with pytest.raises(AssertionError, match="is already wrapped by"):
        wrap._recursive_wrap(outer, wrap.always_wrap_policy, Wrapper, set(), set())


def test_what_is_ignored_or_shared_is_counted_as_pytorch_does():
    tree, layer = make(), nn.Linear(2, 2)
    every = wrap.always_wrap_policy
    made, n = wrap._recursive_wrap(tree, every, Wrapper, {tree[1]}, {tree[0].weight})
    # 78 elements but for the 16 ignored ones; what is in an ignored module counts
    assert n == 62 and type(made.module[1]) is nn.Sequential and type(made.module[1][0]) is nn.Linear
    made, n = wrap._recursive_wrap(nn.Sequential(layer, layer, nn.Sequential(layer)), every, Wrapper, set(), set())
    assert n == 6 and type(made.module[0]) is Wrapper and made.module[1] is layer
    assert type(made.module[2].module[0]) is Wrapper
    tree = make()
    assert wrap._recursive_wrap(tree, lambda **_: False, Wrapper, set(), set()) == (tree, 0)


def test_policies_of_whole_trees():
    model = make()
    custom = wrap.CustomPolicy(lambda m: {"tag": 2} if m is model[0] else isinstance(m, nn.ReLU))
    assert custom._run_policy(model, set(), {"tag": 1}) == {model[0]: {"tag": 2}, model[1][1]: {"tag": 1}}
    chosen = wrap.ModuleWrapPolicy({nn.Linear})._run_policy(model, {model[0]}, {"tag": 1})
    assert chosen == {model[1][0]: {"tag": 1}, model[2][0]: {"tag": 1}}
    given = {"tag": 1}
    assert wrap.CustomPolicy(lambda m: {})._run_policy(model, set(), given) == {}
    every = wrap.CustomPolicy(lambda m: True)._run_policy(model, set(), given)
    assert len(every) == 7 and not any(arguments is given for arguments in every.values())
    with pytest.raises(ValueError, match="it returned 3"):
        wrap.CustomPolicy(lambda m: 3)._run_policy(model, set(), {})


def test_wrap_in_its_context():
    layer = nn.Linear(2, 2)
    assert wrap.wrap(layer) is layer
    with wrap.enable_wrap(wrapper_cls=Wrapper, tag="a"):
        assert wrap.wrap(layer).tag == "a" and wrap.wrap(layer, tag="b").tag == "b"
        with (
            pytest.raises(NotImplementedError, match="already within an autowrap context"),
            wrap.enable_wrap(wrapper_cls=Wrapper),
        ):
            pass


def test_settings_of_state_dicts():
    assert (
        repr(api.FullStateDictConfig(rank0_only=True)) == "FullStateDictConfig(offload_to_cpu=False, rank0_only=True)"
    )
    assert api.OptimStateDictConfig().offload_to_cpu and not api.LocalOptimStateDictConfig().offload_to_cpu
    from shim_torch.distributed import fsdp

    assert fsdp.ShardedStateDictConfig is api.ShardedStateDictConfig


def test_an_assertion_is_traced():
    class Checked(nn.Module):
        def forward(self, x):
            torch._assert(x.shape[-1] == 3, "three columns")
            return x + 1

    traced = torch.fx.symbolic_trace(Checked())
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][-2] is torch._assert
    assert traced(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(AssertionError, match="three columns"):
        traced(torch.ones(2))


def test_pipes_at_the_places_of_their_kinds():
    from shim_torch.utils.data.datapipes import iter as of_items
    from shim_torch.utils.data.datapipes import map as by_key
    from shim_torch.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe
    from shim_torch.utils.data.datapipes.map.utils import SequenceWrapperMapDataPipe

    assert ShufflerIterDataPipe is of_items.Shuffler and SequenceWrapperMapDataPipe is by_key.SequenceWrapper


def test_a_sharded_scaler_of_one_process():
    from shim_torch import distributed
    from shim_torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    step = torch.optim.SGD([weight], lr=0.5)
    scaler = ShardedGradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale((weight * 2).sum()).backward()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        scaler.unscale_(step)
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        part = torch.empty(2)
        distributed.scatter(part, [torch.tensor([3.0, 4.0])])
        assert part.tolist() == [3.0, 4.0]
        scaler, weight.grad = ShardedGradScaler("cpu", init_scale=4.0, growth_interval=1), None
        scaler.scale((weight * 2).sum()).backward()
        scaler.step(step)
        scaler.update()
        assert weight.tolist() == [0.0, 1.0] and scaler.get_scale() == 8.0
        weight.grad = torch.tensor([float("inf"), 1.0])
        scaler.unscale_(step)
        scaler.step(step)
        scaler.update()
        assert weight.tolist() == [0.0, 1.0] and scaler.get_scale() == 4.0
    finally:
        distributed.destroy_process_group()


def test_types_of_a_loader_s_functions():
    from shim_torch.utils.data import dataloader

    assert dataloader._collate_fn_t[int].__args__[-1] is not None and callable(dataloader.default_collate)
    assert dataloader._worker_init_fn_t.__args__[0] is int
