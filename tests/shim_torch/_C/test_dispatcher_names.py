"""What ``torch._C`` answers of the dispatcher: kernels by key, defaults of schemas, the overload of a call."""

import pytest

import shim_torch as torch

NAMESPACE = "dispatcher_names"


@pytest.fixture
def library():
    lib = torch.library.Library(NAMESPACE, "FRAGMENT")
    yield lib
    lib._destroy()


def has(name, *keys):
    return [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]


KEYS = ("CPU", "CUDA", "Autograd", "AutogradCPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")


def test_kernels_of_a_library(library):
    library.define("one(Tensor x) -> Tensor")
    assert has(f"{NAMESPACE}::one", *KEYS) == []
    library.impl("one", lambda x: x.sin(), "CompositeExplicitAutograd")
    assert has(f"{NAMESPACE}::one", *KEYS) == ["CompositeExplicitAutograd"]
    library.impl("one", lambda x: x.sin(), "AutogradCPU")
    assert has(f"{NAMESPACE}::one", *KEYS) == ["AutogradCPU", "CompositeExplicitAutograd"]
    with pytest.raises(RuntimeError, match="does not exist"):
        has(f"{NAMESPACE}::two", "CPU")


def test_kernels_of_aten():
    assert has("aten::sin", "CPU", "Autograd", "AutogradCPU", "CompositeImplicitAutograd") == ["CPU", "Autograd"]
    assert has("aten::nll_loss", "CPU", "Autograd", "CompositeImplicitAutograd") == ["CompositeImplicitAutograd"]


def test_fallback_mode():
    torch._C._set_autograd_fallback_mode("nothing")
    assert torch._C._get_autograd_fallback_mode() == "nothing"
    with pytest.raises(NotImplementedError):
        torch._C._set_autograd_fallback_mode("warn")
    with pytest.raises(RuntimeError):
        torch._C._set_autograd_fallback_mode("else")


def test_defaults_are_numbers(library):
    def defaults(schema):
        return [a.default_value for a in schema.arguments]

    library.define("l(Tensor x, ScalarType f=6, ScalarType? h=None, Device d='cpu') -> Tensor")
    assert defaults(torch.ops.dispatcher_names.l.default._schema) == [None, 6, None, torch.device("cpu")]
    assert defaults(torch.ops.aten.contiguous.default._schema) == [None, 0]
    seen = []

    @torch.library.custom_op(f"{NAMESPACE}::m", mutates_args=())
    def m(x: torch.Tensor, f: torch.dtype = torch.bfloat16) -> torch.Tensor:
        seen.append(f)
        return x.clone()

    m(torch.ones(1))
    assert seen == [torch.bfloat16]
    assert defaults(m._opoverload._schema) == [None, 15]


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "overload"),
    [
        ("sum", ("t",), {}, "default"),
        ("sum", ("t",), {"dim": 1}, "dim_IntList"),
        ("add", ("t", "t"), {}, "Tensor"),
        ("add", ("t", "t"), {"out": "t"}, "out"),
        ("eq", ("t", True), {}, "Scalar"),
        ("pow", (2, "t"), {}, "Scalar"),
        ("clamp", ("t", None, "t"), {}, "Tensor"),
        ("to", ("t", torch.float16), {}, "dtype"),
        ("split", ("t", [1, 1]), {}, "sizes"),
        ("zeros", ([2, 3],), {"dtype": torch.float16, "device": "cpu"}, "default"),
    ],
)
def test_overload_of_a_call(name, args, kwargs, overload):
    t = torch.ones(2)
    args = [t if a == "t" else a for a in args]
    kwargs = {key: t if value == "t" else value for key, value in kwargs.items()}
    assert torch._C._jit_resolve_packet(f"aten::{name}", *args, **kwargs) == overload


def test_no_overload_fits():
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        torch._C._jit_resolve_packet("aten::sum", torch.ones(2), bogus=1)
    with pytest.raises(RuntimeError, match="No such operator"):
        torch._C._jit_resolve_packet("aten::no_such_operator")
