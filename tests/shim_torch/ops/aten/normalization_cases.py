"""Gradients of batch and group normalization as operators."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, g = pattern(torch, 3, 4, 5, seed=1), pattern(torch, 3, 4, 5, seed=2)
    w, b = pattern(torch, 4, seed=3), pattern(torch, 4, seed=4)
    mean, var = x.mean((0, 2)), x.var((0, 2), correction=0)
    groups = x.reshape(3, 2, 10)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "g": g,
        "w": w,
        "b": b,
        "mean": mean,
        "std": (var + 1e-5).rsqrt(),
        "m": pattern(torch, 4, seed=5),
        "v": pattern(torch, 4, seed=6).abs() + 0.5,
        "gm": groups.mean(2),
        "gs": (groups.var(2, correction=0) + 1e-5).rsqrt(),
        "e": torch.empty(0),
        "u": torch.empty(0, dtype=torch.uint8),
    }


CASES = """
aten.native_batch_norm_backward(g, x, w, None, None, mean, std, True, 1e-5, [True, True, True])
aten.native_batch_norm_backward(g, x, None, None, None, mean, std, True, 1e-5, [True, False, False])[0]
aten.native_batch_norm_backward(g, x, w, m, v, e, e, False, 1e-3, [True, True, True])
aten.native_batch_norm_backward(g, x, w, m, v, e, e, False, 1e-3, [False, True, True])[1:]
aten.batch_norm_backward(g, x, w, m, v, mean, std, True, 1e-5, [True, True, True], u)
aten._batch_norm_impl_index(x, w, b, m, v, False, 0.1, 1e-3, False)[0]
aten._batch_norm_impl_index(x, w, b, None, None, True, 0.1, 1e-5, False)[:3]
aten._batch_norm_impl_index_backward(0, x, g, w, None, None, mean, std, True, 1e-5, [True, True, True], u)
aten.native_group_norm_backward(g, x, gm, gs, w, 3, 4, 5, 2, [True, True, True])
aten.native_group_norm_backward(g, x, gm, gs, None, 3, 4, 5, 2, [True, False, False])[0]
aten.native_group_norm_backward(g, x, gm, gs, w, 3, 4, 5, 2, [False, True, True])[1:]
""".strip().splitlines()
