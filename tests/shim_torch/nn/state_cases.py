"""``nn.Module``: what it saves and loads, its hooks around that, and conversions in place."""

import copy
from collections import OrderedDict

from module_cases import model


def _saving_and_loading(torch, m):
    nn = torch.nn

    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.got = nn.Linear(1, 1), None

        def get_extra_state(self):
            return {"v": 3}

        def set_extra_state(self, state):
            self.got = state

    def stack():
        return nn.Sequential(OrderedDict(a=nn.Linear(2, 1), n=nn.BatchNorm1d(1), e=Extra()))

    def loaded(change, *, strict=True, assign=False):
        """What loading a changed state dict gives, of a model whose tensors held their numbers in it."""
        own, state = stack(), stack().state_dict()
        tensors = [(i, k, v) for i, (k, v) in enumerate(state.items()) if isinstance(v, torch.Tensor)]
        state.update({k: torch.full_like(v, i) for i, k, v in tensors})
        other = change(state)
        result = own.load_state_dict(other if isinstance(other, (dict, list)) else state, strict=strict, assign=assign)
        return result, str(result), own.state_dict(keep_vars=True), own.e.got

    def saved(*args, **kwargs):
        state = m.state_dict(*args, **kwargs)
        return list(state), getattr(state, "_metadata", None), [v.requires_grad for v in state.values()]

    def hook_with_result(register):
        own = nn.Linear(1, 1)
        getattr(own, register)(lambda *a: 3)
        return own.state_dict()

    def stripped(state, prefix, metadata=None):
        state = OrderedDict(state)
        if metadata is not None:
            state._metadata = OrderedDict(metadata)
        torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, prefix)
        return state, getattr(state, "_metadata", None)

    return locals()


def _hooks(torch, Extra):
    nn = torch.nn

    def loading_hooks():
        own, log = nn.Sequential(nn.Linear(1, 1)), []
        own[0]._register_load_state_dict_pre_hook(lambda s, *a: log.append([list(s), a[0], dict(a[1]), *a[2:]]))
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

    return locals()


def _conversions(torch, m):
    nn = torch.nn

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
        same = [result is own, now is weight, now.grad is grad, own.p is own.p2]
        return same, type(now).__name__, now.requires_grad, kinds

    def strides(module, memory_format):
        return [p.stride() for p in module.to(memory_format=memory_format).parameters()]

    def on_meta(step):
        with torch.device("meta"):
            own = nn.Linear(2, 1)
        step(own)
        return type(own.weight).__name__, own.weight.device.type, own.weight.requires_grad

    return locals()


def names(torch):
    """What the expressions use."""
    m = model(torch)
    own = {**_saving_and_loading(torch, m), **_conversions(torch, m)}
    return {**own, **_hooks(torch, own["Extra"]), "one": torch.ones(1), "torch": torch}


CASES = """
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
"""
