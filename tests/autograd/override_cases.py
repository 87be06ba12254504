"""Subclasses and modes: what ``__torch_function__`` sees and what comes back."""

from outcome import attempt
from subclasses import classes_of, kind_of


def subclass_results(torch):
    Sub, _ = classes_of(torch)
    t = torch.arange(6.0).reshape(2, 3)
    s = t.as_subclass(Sub)
    results = (
        s + 1,
        1 + s,
        s @ s.T,
        s.sum(),
        s[0],
        s.T,
        s.view(-1),
        torch.add(t, s),
        torch.stack([s, t]),
        s.double(),
        s.clone(),
        s.detach(),
    )
    split, (values, indices) = s.split(1), s.max(1)
    return (
        [kind_of(r) for r in results],
        [kind_of(r) for r in split],
        kind_of(values),
        kind_of(indices),
        kind_of(s.shape),
        isinstance(s, torch.Tensor),
        s.shared,
        s.data_ptr() == t.data_ptr(),
        kind_of(s.numpy()),
        kind_of(s.grad),
        s.is_floating_point(),
        kind_of(s.tolist()),
        kind_of(torch.zeros_like(s)),
        kind_of(s.new_ones(2)),
        kind_of(s.to(torch.float64)),
        kind_of(torch.max(s, 1)),
    )


def subclass_construction(torch):
    Sub, _ = classes_of(torch)

    class WithInit(torch.Tensor):
        @staticmethod
        def __new__(cls, data, extra):
            return torch.as_tensor(data).as_subclass(cls)

        def __init__(self, data, extra):
            self.extra = extra

    w = WithInit([1.0, 2.0], "more")
    m = torch.Tensor._make_subclass(Sub, torch.ones(2), True)
    return (
        kind_of(w),
        w.extra,
        kind_of(w + 1),
        attempt(lambda: (w + 1).extra),
        kind_of(m),
        m.requires_grad,
        m.is_leaf,
        attempt(torch.Tensor._make_subclass, int, torch.ones(1)),
    )


def subclass_gradients(torch):
    Sub, _ = classes_of(torch)
    x = torch.ones(3, requires_grad=True)
    s = x.as_subclass(Sub)
    y = (s * 3).sum()
    y.backward()
    leaf = torch.ones(2).as_subclass(Sub).requires_grad_()
    (leaf * 2).sum().backward()
    return kind_of(y), x.grad, s.requires_grad, s.is_leaf, kind_of(leaf.grad), leaf.grad


def subclass_in_place(torch):
    Sub, _ = classes_of(torch)
    s = torch.ones(2).as_subclass(Sub)
    s += 1
    t = torch.zeros(2)
    t.add_(s)
    u = torch.zeros(2)
    u += s
    s[0] = 5
    return kind_of(s), s, kind_of(t), kind_of(u), t


def what_functions_are_seen(torch):
    _, Logged = classes_of(torch)
    s = torch.arange(4.0).reshape(2, 2).as_subclass(Logged)
    Logged.log.clear()
    s + 1
    1 - s
    s @ s
    torch.add(s, s)
    s.add_(1)
    s[0]
    s[0] = 1
    s.shape
    s.T
    s.grad
    s.requires_grad
    s.dtype
    len(s)
    s.sum()
    torch.nn.functional.relu(s)
    s == 1  # noqa: B015
    -s
    s.size()
    s.item if False else None
    s.numpy()
    s.unbind(0)
    torch.cat([s, s])
    s.is_leaf
    s.device
    bool(s.sum() > 0)
    s.data
    return Logged.log


def default_override_refuses(torch):
    class A(torch.Tensor):
        pass

    class B(torch.Tensor):
        pass

    a, b = torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B)
    return attempt(lambda: a + b), kind_of(attempt(lambda: torch.ones(1) + a))


def most_derived_first(torch):
    order = []

    class A(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented if cls.__name__ == "B" else super().__torch_function__(func, types, args, kwargs)

    class B(A):
        pass

    a, b = torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B)
    return attempt(lambda: torch.add(a, b)), order


def no_tensor_at_all(torch):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args), sorted(kwargs or {})

    class Mute:
        pass

    d = Duck()
    return (
        torch.add(d, 1),
        torch.stack([torch.ones(1), d], dim=0),
        torch.ones(1) + d,
        torch.nn.functional.linear(torch.ones(1, 1), d),
        torch.is_tensor(d),
        torch.overrides.is_tensor_like(d),
        torch.overrides.is_tensor_like(Mute()),
        torch.overrides.has_torch_function((d,)),
    )


def disabled(torch):
    _, Logged = classes_of(torch)
    s = torch.ones(2).as_subclass(Logged)
    Logged.log.clear()
    with torch._C.DisableTorchFunctionSubclass():
        r = s + 1
    quiet = list(Logged.log)

    class Opaque(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    o = torch.ones(2).as_subclass(Opaque)
    return kind_of(r), quiet, kind_of(o + 1), kind_of(torch.nn.Parameter(torch.ones(1)) * 2)


def function_modes(torch):
    log = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name
            super().__init__()

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((self.name, getattr(func, "__name__", str(func))))
            return func(*args, **(kwargs or {}))

    with Mode("outer"):
        torch.ones(2)
        with Mode("inner") as inner:
            torch.ones(2) + 1
        torch.zeros(1).sum()
    torch.ones(1)
    return log, inner.name


def mode_replaces(torch):
    class Double(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 2 if func is torch.ones else func(*args, **(kwargs or {}))

    with Double():
        inside = torch.ones(2)
    return inside, torch.ones(2)
