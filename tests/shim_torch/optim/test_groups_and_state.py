"""Parameter groups, state and hooks of optimizers: what they take, refuse, store and load. Facts of PyTorch 2.13."""

import copy

import pytest

import shim_torch as torch
from shim_torch.optim import optimizer as module


class Plain(torch.optim.Optimizer):
    def __init__(self, params, **defaults):
        super().__init__(params, {"lr": 0.1, **defaults})

    def step(self, closure=None):
        return closure


def parameter(*values, **kwargs):
    return torch.nn.Parameter(torch.tensor(values or (1.0, 2.0), **kwargs))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda: parameter(), TypeError, "should be an iterable of Tensors or dicts, but got torch"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: [{"params": {parameter()}}], TypeError, "need to be organized in ordered collections"),
        (lambda: [parameter(), 3], TypeError, "can only optimize Tensors, but one of the params is int"),
        (lambda: [parameter() * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [parameter(), ("a", parameter())], ValueError, "Some param names are missing"),
        (
            lambda: [{"params": [("a", parameter())]}, {"params": [parameter()]}],
            ValueError,
            "cannot add param group without",
        ),
        (
            lambda: [{"params": [parameter()]}, {"params": [("a", parameter())]}],
            ValueError,
            "cannot add param group with n",
        ),
        (lambda: [{"params": [p]} for p in [parameter()] * 2], ValueError, "appear in more than one parameter group"),
    ],
)
def test_what_groups_refuse(given, error, words):
    with pytest.raises(error, match=words):
        Plain(given())


def test_an_option_that_has_no_default():
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter rate"):
        Plain([parameter()], rate=module.required)
    given = Plain([{"params": [parameter()], "rate": 3}], rate=module.required)
    assert given.param_groups[0]["rate"] == 3 and given.param_groups[0]["lr"] == 0.1


def test_parameters_that_are_no_leaves():
    made = parameter() * 2
    Plain([made], differentiable=True)
    made.retain_grad()
    Plain([made])


def test_names_stand_beside_the_parameters():
    named = Plain(torch.nn.Linear(2, 1).named_parameters())
    group = named.state_dict()["param_groups"][0]
    assert list(group) == ["param_names", "lr", "params"]
    assert group["param_names"] == ["weight", "bias"] and group["params"] == [0, 1]


def test_numbers_in_a_state():
    p, q = parameter(), parameter()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        given = Plain([p, p])
    given.add_param_group({"params": q})
    given.state[q]["v"] = 1
    given.state["extra"] = 2
    state = given.state_dict()
    assert state["state"] == {2: {"v": 1}, "extra": 2}
    assert [group["params"] for group in state["param_groups"]] == [[1, 1], [2]]


def stepped(**options):
    params = [parameter(), parameter(3.0)]
    given = torch.optim.Adam(params, lr=0.1, **options)
    for p in params:
        p.grad = torch.ones_like(p)
    given.step()
    return given


def test_loaded_state_follows_numbers_and_takes_the_parameters_dtype():
    state = stepped().state_dict()
    group = {**state["param_groups"][0], "params": [7, 9]}
    nested = {"step": torch.tensor(1.0), "parts": [torch.ones(1), {"step": torch.ones(1)}, 2], "none": None}
    given = {"state": {7: state["state"][0], 9: nested, "other": 5}, "param_groups": [group]}
    before = copy.deepcopy(given)
    params = [parameter(dtype=torch.float64), parameter(3.0, dtype=torch.float64)]
    loaded = torch.optim.Adam(params, lr=0.5)
    loaded.load_state_dict(given)
    first, second = loaded.state[params[0]], loaded.state[params[1]]
    assert (first["exp_avg"].dtype, first["step"].dtype) == (torch.float64, torch.float32)
    assert second["parts"][0].dtype == torch.float64 and second["parts"][1]["step"].dtype == torch.float32
    assert second["parts"][2] == 2 and second["none"] is None and loaded.state["other"] == 5
    assert loaded.param_groups[0]["lr"] == 0.1 and loaded.param_groups[0]["params"][0] is params[0]
    assert given["param_groups"] == before["param_groups"] and given["state"].keys() == before["state"].keys()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda groups: groups * 2, "a different number of parameter groups"),
        (lambda groups: [{**groups[0], "params": [0]}], "doesn't match the size of optimizer's group"),
    ],
)
def test_states_of_other_groups_are_refused(change, words):
    given = stepped()
    state = given.state_dict()
    with pytest.raises(ValueError, match=words):
        given.load_state_dict({**state, "param_groups": change(state["param_groups"])})


@pytest.mark.parametrize("options", [{}, {"capturable": True}, {"fused": True}])
@pytest.mark.parametrize("key", [None, "step", "exp_avg"])
def test_where_loaded_tensors_go(options, key):
    place = module.Optimizer._process_value_according_to_param_policy
    p, value = parameter(dtype=torch.float16), torch.ones(1, dtype=torch.float64)
    wanted = torch.float16 if key != "step" else torch.float32 if options else torch.float64
    groups = [{"params": [1], "fused": True}, {"params": [3], **options}]
    assert place(p, value, 3, groups, key).dtype == wanted
    assert place(torch.tensor([1]), value, 3, groups, "exp_avg").dtype == torch.float64


def test_hooks_may_change_what_passes_through_them():
    given, seen = Plain([parameter()]), []
    given.register_step_pre_hook(lambda o, args, kwargs: seen.append((args[1:], kwargs)))
    handle = given.register_step_pre_hook(lambda o, args, kwargs: ((o, "new"), {}))
    given.register_step_post_hook(lambda o, args, kwargs: seen.append((args[1:], kwargs)))
    assert given.step(closure=5) == "new" and seen == [((), {"closure": 5}), (("new",), {})]
    handle.remove()
    assert given.step(7) == 7
    given.register_step_pre_hook(lambda *_: (1, 2, 3))
    with pytest.raises(
        RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got \(1, 2, 3\)"
    ):
        given.step()

    order = []
    given.register_state_dict_pre_hook(lambda o: order.append("before"))
    given.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    given.register_state_dict_post_hook(lambda o, state: order.append(sorted(state)), prepend=True)
    given.register_load_state_dict_pre_hook(
        lambda o, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 7}]}
    )
    given.register_load_state_dict_post_hook(lambda o: order.append("loaded"))
    given.load_state_dict(given.state_dict())
    assert order == ["before", ["param_groups", "state"], "loaded"] and given.param_groups[0]["lr"] == 7


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("graph", [False, True])
def test_clearing_gradients(graph):
    p, without = parameter(), parameter()
    given = Plain([p, without])
    (p**3).sum().backward(create_graph=graph)
    grad = p.grad
    given.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0.0, 0.0] and grad.grad_fn is None and not grad.requires_grad
    given.zero_grad()
    assert p.grad is None and without.grad is None


def test_forms_that_are_chosen_by_default():
    choose, meta = module._default_to_fused_or_foreach, torch.ones(1, device="meta")
    whole, other = torch.ones(1, dtype=torch.int64), torch.ones(1).as_subclass(type("Sub", (torch.Tensor,), {}))
    assert choose([parameter()], True, True) == (False, False)
    assert choose([parameter(), None], False, True) == (True, False)
    for params in ([parameter(), whole], [parameter(), meta], [other]):
        assert choose(params, False, True)[0] is False
    assert choose([other], False) == (False, False) and choose([meta], False) == (False, False)


def test_sparse_adam_refuses_before_it_changes_anything():
    rows, dense = torch.zeros(3, 2, requires_grad=True), parameter()
    given = torch.optim.SparseAdam([rows, dense])
    rows.grad = torch.sparse_coo_tensor([[1]], [[1.0, 1.0]], (3, 2), check_invariants=True)
    dense.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        given.step()
    assert rows.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_counts_what_it_evaluates(search):
    p, calls = parameter(3.0, -2.0), []
    given = torch.optim.LBFGS([p], lr=0.3, max_iter=5, max_eval=4, line_search_fn=search)

    def closure():
        calls.append(1)
        given.zero_grad()
        loss = (p**4).sum()
        loss.backward()
        return loss

    assert given.step(closure).item() == 97.0
    state = given.state[p]
    assert state["func_evals"] == len(calls) == 4 and state["n_iter"] >= 2
    assert {"d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"} <= set(state)
