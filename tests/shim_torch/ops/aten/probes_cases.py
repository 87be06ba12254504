"""PyTorch's own probes of arguments and gradients."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 2, 3, seed=1).requires_grad_()
    return {
        "torch": torch,
        "nn": torch._C._nn,
        "aten": torch.ops.aten,
        "x": x,
        "v": torch.arange(3, dtype=torch.int32),
        "w": torch.arange(3.0),
    }


CASES = """
nn._test_optional_intlist(v, None)
nn._test_optional_intlist(v, [4, 5, 6])
nn._test_optional_intlist(v, 7)
nn._test_optional_filled_intlist(v[:2], None)
nn._test_optional_filled_intlist(v[:2], [4, 5])
nn._test_optional_filled_intlist(v[:2], 7)
nn._test_optional_floatlist(w, [0.5, 1.5, 2.5])
nn._test_optional_floatlist(w, None)
nn._test_optional_floatlist(v, [0.5, 1.5, 2.5])
nn._test_optional_intlist(v[None], [4, 5, 6])
nn._test_optional_intlist(w, [4, 5, 6])
nn._test_ambiguous_defaults(x, 2, '3')
nn._test_string_default(x)
nn._test_string_default(x, 'other')
nn._test_string_default(x, b='other')
nn._test_ambiguous_defaults(x)
nn._test_ambiguous_defaults(x, 2, '2')
nn._test_ambiguous_defaults(x, 2)
nn._test_ambiguous_defaults(x, 1, 3)
torch._test_serialization_subcmul(x, x, 3)
torch._test_serialization_subcmul(x, x)
torch._test_autograd_multiple_dispatch(x)
torch._test_autograd_multiple_dispatch(x, True)
torch._test_autograd_multiple_dispatch_view(x)
torch._test_autograd_multiple_dispatch_view_copy(x)
torch._test_functorch_fallback(x, x)
""".strip().splitlines()
