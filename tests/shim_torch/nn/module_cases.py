"""``nn.Module``: its parts, registration, state, loading, conversions, hooks' handles, containers."""

import copy
from collections import OrderedDict


def model(torch):
    """A module with shared parts, parts of each kind and missing ones."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
            self.c = self.a
            self.register_buffer("kept", torch.ones(2))
            self.register_buffer("passing", torch.zeros(1), persistent=False)
            self.register_buffer("no_buffer", None)
            self.register_parameter("no_parameter", None)
            self.p = self.p2 = nn.Parameter(torch.ones(1))
            self.none = None
            self.register_module("no_module", None)

        def forward(self, x):
            return self.b(self.a(x))

    return Model()


def names(torch):
    """What the expressions use."""
    nn, m = torch.nn, model(torch)

    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.got = nn.Linear(1, 1), None

        def get_extra_state(self):
            return {"v": 3}

        def set_extra_state(self, state):
            self.got = state

    class Early(nn.Module):
        def __init__(self, step):
            step(self)

    def first(pairs):
        return [name for name, _ in pairs]

    def changed(step):
        """The tables of a model after a step."""
        own = copy.deepcopy(m)
        step(own)
        return list(own._modules), list(own._buffers), list(own._parameters), sorted(own._non_persistent_buffers_set)

    def replaced(*args, **kwargs):
        own = copy.deepcopy(m)
        own.set_submodule(*args, **kwargs)
        return str(own)

    def stack():
        return nn.Sequential(OrderedDict(a=nn.Linear(2, 1), n=nn.BatchNorm1d(1), e=Extra()))

    def loaded(change, *, strict=True, assign=False):
        """What loading a changed state dict gives, of a model whose tensors held their numbers in it."""
        own, state = stack(), stack().state_dict()
        state.update({k: torch.full_like(v, i) for i, (k, v) in enumerate(state.items()) if isinstance(v, torch.Tensor)})
        other = change(state)
        result = own.load_state_dict(other if isinstance(other, (dict, list)) else state, strict=strict, assign=assign)
        return result, str(result), own.state_dict(keep_vars=True), own.e.got

    def loading_hooks():
        own, log = nn.Sequential(nn.Linear(1, 1)), []
        own[0]._register_load_state_dict_pre_hook(lambda *a: log.append(["before", list(a[0]), a[1], dict(a[2]), *a[3:]]))
        own.register_load_state_dict_pre_hook(lambda m, s, *a: log.append([type(m).__name__, list(s), a[0]]))
        own.register_load_state_dict_post_hook(lambda m, keys: log.append(["after", *keys]))
        own[0].register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
        return own.load_state_dict({"0.bias": torch.ones(1)}), log

    def saving_hooks():
        own, log = nn.Sequential(Extra(), nn.Linear(1, 1)), []
        for module in (own, own[0]):
            module.register_state_dict_pre_hook(lambda m, prefix, keep: log.append([type(m).__name__, prefix, keep]))
        own[0].register_state_dict_post_hook(lambda m, state, prefix, meta: log.append([list(state), prefix, meta]))
        own._register_state_dict_hook(lambda m, state, prefix, meta: {**state, "hooked": 1})
        own[1]._register_state_dict_hook(lambda m, state, prefix, meta: {"lost": 1})
        return list(own.state_dict(prefix="p.")), log

    def hook_with_result(register):
        own = nn.Linear(1, 1)
        getattr(own, register)(lambda *a: 3)
        return own.state_dict()

    def saved(*args, **kwargs):
        state = m.state_dict(*args, **kwargs)
        return list(state), getattr(state, "_metadata", None), [v.requires_grad for v in state.values()]

    def converted(step, *, overwrite=False, swap=False):
        """Whether module, parameter and gradient are the same objects after a conversion, and what they are of."""
        own, future = copy.deepcopy(m), torch.__future__
        with torch.no_grad():
            for weight in own.parameters():
                weight.fill_(0.5)
        own(torch.ones(1, 2)).sum().backward()
        weight, grad = own.a.weight, own.a.weight.grad
        future.set_overwrite_module_params_on_conversion(overwrite)
        future.set_swap_module_params_on_conversion(swap)
        try:
            result = step(own)
        finally:
            future.set_overwrite_module_params_on_conversion(False)
            future.set_swap_module_params_on_conversion(False)
        now = own.a.weight
        kinds = [str(t.dtype) + t.device.type for t in (now, now.grad, own.kept, own.p)]
        return [result is own, now is weight, now.grad is grad, own.p is own.p2, type(now).__name__, now.requires_grad, kinds]

    def strides(module, memory_format):
        return [p.stride() for p in module.to(memory_format=memory_format).parameters()]

    def on_meta(step):
        with torch.device("meta"):
            own = nn.Linear(2, 1)
        step(own)
        return type(own.weight).__name__, own.weight.device.type, own.weight.requires_grad

    def handles():
        d, e1, e2 = OrderedDict(), OrderedDict(), OrderedDict()
        made = [RemovableHandle(d), RemovableHandle(d, extra_dict=e1), RemovableHandle(d, extra_dict=[e1, e2])]
        for table, owners in ((d, made), (e1, made[1:]), (e2, made[2:])):
            table.update({h.id: 1 for h in owners})
        start = made[0].id
        made[2].remove()
        made[2].remove()
        with made[0]:
            pass
        state = made[1].__getstate__()
        copied = RemovableHandle.__new__(RemovableHandle)
        copied.__setstate__((d, RemovableHandle.next_id + 5))
        later = RemovableHandle(d)
        left = [[k - start for k in t] for t in (d, e1, e2)]
        return [h.id - start for h in made], left, len(state), later.id - copied.id, copied.extra_dict_ref

    def stripped(state, prefix, metadata=None):
        state = OrderedDict(state)
        if metadata is not None:
            state._metadata = OrderedDict(metadata)
        torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, prefix)
        return state, getattr(state, "_metadata", None)

    def replica():
        own = m._replicate_for_data_parallel()
        tables = [list(own._parameters), list(own._buffers), list(own._modules)]
        return tables, own._buffers is m._buffers, own.a is m.a, own._is_replica, list(m._parameters), type(own) is type(m)

    RemovableHandle = torch.utils.hooks.RemovableHandle
    return {**globals(), **locals(), "PD": nn.ParameterDict, "relu": nn.ReLU(), "one": torch.ones(1)}


CASES = """
first(m.named_parameters())
first(m.named_parameters(remove_duplicate=False))
first(m.named_parameters(prefix="r", recurse=False))
first(m.named_buffers(prefix="x"))
first(m.named_modules())
first(m.named_modules(prefix="r", remove_duplicate=False))
first(m.named_modules(memo={m.b}))
(lambda seen: (first(m.named_modules(seen)), len(seen), first(m.named_modules(seen))))(set())
first(m.named_children())
[type(c).__name__ for c in m.children()]
first(m._named_members(lambda q: q._modules.items(), prefix="z", recurse=False))
[n for n in dir(m) if n in ("a", "c", "kept", "no_buffer", "p2", "training", "forward", "no_module")]
[n for n in dir(m.b) if n in ("0", "1", "_parameters")]
dir(m) == sorted(set(dir(m)))
m.get_submodule("b.0")
m.get_submodule("b.9")
m.get_submodule("p")
m.get_submodule("b..0")
m.get_submodule("") is m
m.get_parameter("a.weight").shape
m.get_parameter("kept")
m.get_parameter("a.zz")
m.get_buffer("kept")
m.get_buffer("p")
m.get_buffer("zz")
replaced("b.0", relu)
replaced("b.new", relu)
replaced("b.new", relu, strict=True)
replaced("a", relu, strict=True)
replaced("", relu)
replaced("q.z", relu)
replaced("b.0.weight", relu)
replaced("b", 3)
replaced("p.x", relu)
replaced("no_module", relu)
replaced("b.", relu)
changed(lambda s: s.register_buffer("kept", None, False))
changed(lambda s: s.register_buffer("passing", one))
changed(lambda s: s.register_buffer(3, None))
changed(lambda s: s.register_buffer("a.b", None))
changed(lambda s: s.register_buffer("", None))
changed(lambda s: s.register_buffer("p", None))
changed(lambda s: s.register_buffer("forward", None))
changed(lambda s: s.register_buffer("zz", 3))
changed(lambda s: s.add_module("a", relu))
changed(lambda s: s.add_module("zz", 3))
changed(lambda s: s.add_module("kept", relu))
changed(lambda s: s.add_module(3, 4))
changed(lambda s: s.add_module(3, relu))
changed(lambda s: s.add_module("a.b", relu))
changed(lambda s: s.add_module("", relu))
changed(lambda s: s.add_module("zz", None))
changed(lambda s: s.register_parameter("p", None))
changed(lambda s: s.register_parameter("zz", one))
changed(lambda s: s.register_parameter("a", None))
changed(lambda s: s.register_parameter("a.b", None))
changed(lambda s: s.register_parameter("zz", one.requires_grad_() * 2))
changed(lambda s: setattr(s, "kept", nn.Parameter(one)))
changed(lambda s: setattr(s, "kept", 3))
changed(lambda s: setattr(s, "a", 3))
changed(lambda s: setattr(s, "p", relu))
Early(lambda s: s.register_buffer("a", one))
Early(lambda s: s.register_parameter("a", None))
Early(lambda s: s.add_module("a", None))
Early(lambda s: setattr(s, "a", relu))
replica()
handles()
len(RemovableHandle({}, extra_dict=3).extra_dict_ref)
# state
saved()
saved(keep_vars=True)
saved(prefix="x.")
saved({}, "y.")
saved({}, "y.", True)
saved({}, "y.", prefix="w.")
saved(None, "q.")
saved(destination={"k": one})
m.state_dict(1, 2, 3, 4)
saving_hooks()
hook_with_result("register_state_dict_post_hook")
hook_with_result("_register_state_dict_hook")
loaded(lambda s: None)
loaded(lambda s: None, assign=True)
loaded(lambda s: [s.pop(k) for k in ("a.weight", "n.running_mean", "e._extra_state")] and None)
loaded(lambda s: [s.pop(k) for k in ("a.weight", "n.running_mean", "e._extra_state")] and None, strict=False)
loaded(lambda s: s.update({"zz": one, "a.zz": one, "a.weight.q": one, "n._extra_state": 3, "q.r.s": 1}))
loaded(lambda s: s.update({"zz": one, "a.zz": one, "a.weight.q": one}), strict=False)
loaded(lambda s: s.update({"a.weight": torch.ones(3, 3), "n.bias": torch.ones(2)}))
loaded(lambda s: s.update({"a.weight": 3}))
loaded(lambda s: s.update({"n.num_batches_tracked": torch.full((1,), 7)}))
loaded(lambda s: s.update({"a.weight": torch.ones(1, 2).double(), "a.bias": nn.Parameter(one, False)}), assign=True)
loaded(lambda s: s.update({"a.weight": torch.ones(1, 2).double(), "a.bias": nn.Parameter(one, False)}))
loaded(lambda s: [1])
loaded(lambda s: dict(s))
loaded(lambda s: [s.pop("a.weight"), s.update({"zz": 1, "n.bias": torch.ones(4)})] and None)
loaded(lambda s: s.update({"": 1, ".": 2, "a.": 3}), strict=False)[0]
loading_hooks()
on_meta(lambda s: s.load_state_dict(nn.Linear(2, 1).state_dict()))
on_meta(lambda s: s.load_state_dict(nn.Linear(2, 1).state_dict(), assign=True))
stripped({"module.a": 1, "b": 2, "mod": 3, "module.c": 4}, "module.", {"": 1, "module": 2, "module.a": 3, "x": 4})
stripped({"m.a": 1}, "m.", {"m": 1, "m.b.c": 3})
stripped({"a.a.x": 1, "a.x": 2}, "a.")
stripped({"ab": 1}, "a", {"": 1, "a": 5, "ab": 2})
stripped({"a": 1}, "", {"": 1, "b": 2})
# conversions
[converted(lambda s: s.double(), overwrite=o, swap=w) for o in (False, True) for w in (False, True)]
[converted(lambda s: s.to("meta"), overwrite=o, swap=w) for o in (False, True) for w in (False, True)]
[converted(lambda s: s.to("cpu"), overwrite=o, swap=w) for o in (False, True) for w in (False, True)]
[converted(lambda s: s._apply(lambda t: t * 2), overwrite=o, swap=w) for o in (False, True) for w in (False, True)]
converted(lambda s: s._apply(lambda t: t.double(), recurse=False))
converted(lambda s: s.to_empty(device="meta"))
converted(lambda s: s.to(torch.ones(1).double()))
converted(lambda s: s.to("cpu", torch.bfloat16, non_blocking=True))
converted(lambda s: s.to(torch.int32))
converted(lambda s: s.to(copy=True))
converted(lambda s: s.to(torch.complex64))
strides(nn.Conv2d(2, 3, 3), torch.channels_last)
strides(nn.Conv1d(2, 3, 3), torch.channels_last)
strides(nn.Conv3d(2, 3, 3), torch.channels_last_3d)
on_meta(lambda s: s.to("cpu"))
on_meta(lambda s: s.to_empty(device="cpu"))
m.train(3)
# containers
nn.Sequential()
nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
nn.Sequential(nn.ReLU(), nn.Tanh())
nn.Sequential({"a": nn.ReLU()})
nn.Sequential(OrderedDict({"a.b": nn.ReLU()}))
nn.Sequential(None, nn.ReLU())
PD({"a": torch.ones(2, 3), "b": 3, "c": nn.Parameter(one.double()), "n": None, "e": torch.ones(())})
PD()
nn.ParameterList([torch.ones(2), 3, nn.Parameter(torch.ones(1, 2))])
"""
