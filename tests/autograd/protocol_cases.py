"""The tensor as a Python object: subclasses, overrides, copying, pickling, conversions. Run with PyTorch and with shim_torch."""

import copy
import gc
import io
import pickle
import weakref

from outcome import attempt


def _classes(torch):
    class Sub(torch.Tensor):
        shared = "class attribute"

        def double(self):
            return self * 2

    class Logged(torch.Tensor):
        log: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append((getattr(func, "__name__", str(func)), [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs)

    return Sub, Logged


def _kind(x):
    return type(x).__name__


def subclass_results(torch):
    Sub, _ = _classes(torch)
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
        [_kind(r) for r in results],
        [_kind(r) for r in split],
        _kind(values),
        _kind(indices),
        _kind(s.shape),
        isinstance(s, torch.Tensor),
        s.shared,
        s.data_ptr() == t.data_ptr(),
        _kind(s.numpy()),
        _kind(s.grad),
        s.is_floating_point(),
        _kind(s.tolist()),
        _kind(torch.zeros_like(s)),
        _kind(s.new_ones(2)),
        _kind(s.to(torch.float64)),
        _kind(torch.max(s, 1)),
    )


def subclass_construction(torch):
    Sub, _ = _classes(torch)

    class WithInit(torch.Tensor):
        @staticmethod
        def __new__(cls, data, extra):
            return torch.as_tensor(data).as_subclass(cls)

        def __init__(self, data, extra):
            self.extra = extra

    w = WithInit([1.0, 2.0], "more")
    m = torch.Tensor._make_subclass(Sub, torch.ones(2), True)
    return (
        _kind(w),
        w.extra,
        _kind(w + 1),
        attempt(lambda: (w + 1).extra),
        _kind(m),
        m.requires_grad,
        m.is_leaf,
        attempt(torch.Tensor._make_subclass, int, torch.ones(1)),
    )


def subclass_gradients(torch):
    Sub, _ = _classes(torch)
    x = torch.ones(3, requires_grad=True)
    s = x.as_subclass(Sub)
    y = (s * 3).sum()
    y.backward()
    leaf = torch.ones(2).as_subclass(Sub).requires_grad_()
    (leaf * 2).sum().backward()
    return _kind(y), x.grad, s.requires_grad, s.is_leaf, _kind(leaf.grad), leaf.grad


def subclass_in_place(torch):
    Sub, _ = _classes(torch)
    s = torch.ones(2).as_subclass(Sub)
    s += 1
    t = torch.zeros(2)
    t.add_(s)
    u = torch.zeros(2)
    u += s
    s[0] = 5
    return _kind(s), s, _kind(t), _kind(u), t


def what_functions_are_seen(torch):
    _, Logged = _classes(torch)
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
    return attempt(lambda: a + b), _kind(attempt(lambda: torch.ones(1) + a))


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
    _, Logged = _classes(torch)
    s = torch.ones(2).as_subclass(Logged)
    Logged.log.clear()
    with torch._C.DisableTorchFunctionSubclass():
        r = s + 1
    quiet = list(Logged.log)

    class Opaque(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    o = torch.ones(2).as_subclass(Opaque)
    return _kind(r), quiet, _kind(o + 1), _kind(torch.nn.Parameter(torch.ones(1)) * 2)


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


def parameters(torch):
    p = torch.nn.Parameter(torch.ones(2))
    b = torch.nn.Buffer(torch.ones(2))
    made = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    Sub, _ = _classes(torch)
    custom = torch.nn.Parameter(torch.ones(2).as_subclass(Sub))
    return (
        p.requires_grad,
        made.requires_grad,
        isinstance(p, torch.Tensor),
        isinstance(torch.ones(1), torch.nn.Parameter),
        repr(p),
        _kind(p.data),
        _kind(p.detach()),
        _kind(p + 1),
        _kind(p.clone()),
        _kind(copy.deepcopy(p)),
        isinstance(b, torch.nn.Buffer),
        _kind(b),
        _kind(custom),
        isinstance(custom, torch.nn.Parameter),
        attempt(torch.nn.Parameter, torch.ones(1, dtype=torch.int64)),
        torch.nn.Parameter().shape,
    )


def deep_copies(torch):
    x = torch.ones(2, 3, requires_grad=True)
    x.mine = [1, 2]
    x.grad = torch.full((2, 3), 4.0)
    y = copy.deepcopy(x)
    base = torch.arange(6.0).reshape(2, 3)
    a, b = copy.deepcopy((base, base[0]))
    a[0, 0] = 100
    Sub, _ = _classes(torch)

    class Copied(torch.Tensor):
        def new_empty(self, shape):
            return torch.empty(shape).as_subclass(Copied)

    s = torch.ones(2).as_subclass(Copied)
    s.extra = "kept"
    d = copy.deepcopy(s)
    refused = attempt(copy.deepcopy, torch.ones(2).as_subclass(Sub))
    strided = copy.deepcopy(base.t())
    shallow = copy.copy(base)
    shallow[0, 0] = -1
    return (
        y, y.requires_grad, y.is_leaf, y.mine, y.mine is x.mine, y.grad, y.data_ptr() == x.data_ptr(),
        b[0], _kind(d), d.extra, strided.stride(), base[0, 0], attempt(copy.deepcopy, x * 2), refused,
    )  # fmt: skip


def deepcopy_of_results(torch):
    x = torch.ones(2, requires_grad=True)
    return attempt(copy.deepcopy, x * 2), attempt(lambda: copy.deepcopy((x * 2).detach()))


def _through(x):
    return pickle.loads(pickle.dumps(x))


def pickles(torch):
    base = torch.arange(6.0).reshape(2, 3)
    a, again = _through((base, base))
    x = torch.ones(2, requires_grad=True)
    x.mine = "kept"
    y = _through(x)
    z = _through(base.t())
    p = _through(torch.nn.Parameter(torch.ones(2)))
    return (
        again is a,
        y.requires_grad,
        y.mine,
        z.stride(),
        z,
        _kind(p),
        p.requires_grad,
        _through(torch.float32) is torch.float32,
        _through(torch.Size([1, 2])),
        _through(torch.device("cpu")),
    )


def pickles_of_dtypes(torch):
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
    return [_through(torch.ones(2, dtype=getattr(torch, n))) for n in names]


def pickles_of_results(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = _through(y.detach())
    h = torch.ones(2, requires_grad=True)
    h.register_hook(lambda g: g)
    return attempt(lambda: _through(y).requires_grad), z, attempt(lambda: _through(h))


def saved_and_loaded(torch):
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(2, 2), "n": 3}, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def attributes(torch):
    x = torch.ones(2)
    x.mine = 1
    y = x.view(-1)
    z = x.detach()
    d = dict(x.__dict__)
    del x.mine

    class Slotted(torch.Tensor):
        __slots__ = ("place",)

    s = torch.ones(1).as_subclass(Slotted)
    s.place = 3
    return (
        d,
        x.__dict__,
        hasattr(y, "mine"),
        hasattr(z, "mine"),
        s.place,
        attempt(lambda: x.mine),
        attempt(setattr, x, "shape", 3),
    )


def weak_references(torch):
    x = torch.ones(2)
    dead = []
    ref = weakref.ref(x, lambda r: dead.append(1))
    alive = ref() is x
    del x
    gc.collect()
    leaf = torch.ones(2, requires_grad=True)
    leaf.mine = 7
    y = leaf * 2
    del leaf
    gc.collect()
    table = weakref.WeakKeyDictionary()
    k = torch.ones(1)
    table[k] = 5
    return alive, ref() is None, dead, y.grad_fn.next_functions[0][0].variable.mine, table[k]


def class_assignment(torch):
    Sub, _ = _classes(torch)
    x = torch.ones(2)
    x.__class__ = Sub
    return _kind(x), _kind(x + 1), x.shared, isinstance(x, torch.Tensor)


def monkey_patches(torch):
    torch.Tensor.my_method = lambda self, k: self * k
    original = torch.Tensor.relu
    torch.Tensor.relu = lambda self: "patched"
    try:
        return (
            torch.ones(1).my_method(3),
            torch.ones(1).relu(),
            attempt(lambda: torch.nn.Parameter(torch.ones(1)).my_method(2)),
        )
    finally:
        torch.Tensor.relu = original
        del torch.Tensor.my_method


def new_tensors(torch):
    x = torch.ones(2, dtype=torch.float64)
    return (
        x.new_zeros(2, 2), x.new_ones((1,)), x.new_full((2,), 7), x.new_tensor([1, 2]), x.new_empty(2).shape, x.new_tensor([1.0], dtype=torch.int32),
        x.new_zeros(2, requires_grad=True).requires_grad, x.new(2).shape, x.new([1, 2]), x.new_empty_strided((2, 2), (1, 2)).stride(),
    )  # fmt: skip


def types(torch):
    x = torch.ones(2)
    return (
        x.type(), x.double().type(), x.type(torch.float16).dtype, x.type("torch.IntTensor").dtype, x.type(torch.DoubleTensor).dtype,
        x.type_as(torch.ones(1, dtype=torch.int64)).dtype, torch.ones(1, dtype=torch.bfloat16).type(), isinstance(x, torch.FloatTensor),
        attempt(x.type, "torch.NoTensor"),
    )  # fmt: skip


def to_forms(torch):
    x = torch.ones(2)
    other = torch.ones(1, dtype=torch.float64)
    return (
        x.to(torch.float64).dtype, x.to("cpu") is x, x.to(x.dtype) is x, x.to(torch.device("cpu"), torch.int32).dtype, x.to(other).dtype,
        x.to(dtype=torch.int8).dtype, x.to(torch.float32, copy=True) is x, x.to("cpu", torch.float16, non_blocking=True).dtype,
        x.to(memory_format=torch.preserve_format) is x, attempt(x.to, torch.float32, torch.float64),
    )  # fmt: skip


def numbers(torch):
    one, two = torch.tensor(2.5), torch.ones(2)
    return (
        float(one), int(one), bool(one), complex(one), one.item(), one.tolist(), two.tolist(), torch.tensor([[3]]).item(), f"{one:.2f}", f"{two}", format(one),
        [10, 20, 30][torch.tensor(1)], range(torch.tensor(3)), attempt(two.item), attempt(bool, two), attempt(float, two), attempt(int, two), attempt(bool, torch.ones(0)),
        attempt(lambda: [1, 2][one]), attempt(lambda: [1, 2][torch.tensor([0, 1])]), attempt(lambda: f"{two:.2f}"), attempt(int, torch.tensor(1j)), attempt(float, torch.tensor(1 + 1j)),
torch.tensor(True).item(), torch.tensor(1 + 2j).item(), hash(one) == hash(one), attempt(divmod, two, 2),
    )  # fmt: skip


def containers(torch):
    x = torch.arange(4.0).reshape(2, 2)
    return (
        len(x), [r.tolist() for r in x], 3.0 in x, 7 in x, torch.tensor(1.0) in x, attempt(lambda: "a" in x), attempt(len, torch.tensor(1)),
        attempt(iter, torch.tensor(1)), list(reversed(x)), x.__array_priority__, [type(e).__name__ for e in x], attempt(lambda: [0, 1] in x),
    )  # fmt: skip


def representation(torch):
    x = torch.ones(2, requires_grad=True)
    Sub, _ = _classes(torch)
    return (
        repr(x),
        repr(x * 2),
        str(torch.tensor(3)),
        repr(torch.ones(1).as_subclass(Sub)),
        repr(torch.ones(0)),
        repr(torch.tensor([1.5, float("nan")])),
        repr(torch.ones(2, dtype=torch.float64)),
    )


def comparison_and_hash(torch):
    x, y = torch.ones(2), torch.ones(2)
    return {x: 1}[x], (x == y), x is y, x != y, attempt(lambda: x == "text"), x == None, len({x, y, x})  # noqa: E711


def wrapper_subclass(torch):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    w = attempt(Wrapper, torch.ones(2))
    return attempt(lambda: (w + 1).tolist())


def arrays(torch):
    import numpy

    x = torch.ones(2)
    a = numpy.asarray(x)
    a[0] = 5
    return x, attempt(numpy.asarray, torch.ones(1, requires_grad=True)), x.dtype


def resolve_names(torch):
    resolve = torch.overrides.resolve_name
    return (
        resolve(torch.add),
        resolve(torch.Tensor.add),
        resolve(torch.nn.functional.relu),
        resolve(torch.ops.aten.add),
        resolve(torch.ops.aten.add.Tensor),
    )
