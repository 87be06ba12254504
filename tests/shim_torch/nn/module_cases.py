"""``nn.Module``: its parts, registration, hooks' handles, containers."""

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


def _handles(RemovableHandle):
    """What three handles over three tables leave in them, and which numbers later ones get."""
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


def names(torch):
    """What the expressions use."""
    nn, m, RemovableHandle = torch.nn, model(torch), torch.utils.hooks.RemovableHandle

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

    def replica():
        own = m._replicate_for_data_parallel()
        tables = [list(own._parameters), list(own._buffers), list(own._modules)]
        same = [own._buffers is m._buffers, own.a is m.a, type(own) is type(m)]
        return tables, same, own._is_replica, list(m._parameters)

    def handles():
        return _handles(RemovableHandle)

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
len(RemovableHandle(OrderedDict(), extra_dict=3).extra_dict_ref)
RemovableHandle({})
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
