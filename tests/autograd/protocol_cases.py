"""Tensors as Python objects: parameters, copies, pickles, attributes, numbers, printing."""

import copy
import gc
import io
import pickle
import weakref

from outcome import attempt
from subclasses import classes_of, kind_of


def parameters(torch):
    p = torch.nn.Parameter(torch.ones(2))
    b = torch.nn.Buffer(torch.ones(2))
    made = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    Sub, _ = classes_of(torch)
    custom = torch.nn.Parameter(torch.ones(2).as_subclass(Sub))
    return (
        p.requires_grad,
        made.requires_grad,
        isinstance(p, torch.Tensor),
        isinstance(torch.ones(1), torch.nn.Parameter),
        repr(p),
        kind_of(p.data),
        kind_of(p.detach()),
        kind_of(p + 1),
        kind_of(p.clone()),
        kind_of(copy.deepcopy(p)),
        isinstance(b, torch.nn.Buffer),
        kind_of(b),
        kind_of(custom),
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
    Sub, _ = classes_of(torch)

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
        b[0], kind_of(d), d.extra, strided.stride(), base[0, 0], attempt(copy.deepcopy, x * 2), refused,
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
        kind_of(p),
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
    Sub, _ = classes_of(torch)
    x = torch.ones(2)
    x.__class__ = Sub
    return kind_of(x), kind_of(x + 1), x.shared, isinstance(x, torch.Tensor)


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
    Sub, _ = classes_of(torch)
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
