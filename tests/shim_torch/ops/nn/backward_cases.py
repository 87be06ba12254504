"""Gradients by ATen's names where the swept cases do not go: edges, dtypes, absent weights, and the native_* forms."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    inf, nan = float("inf"), float("nan")
    x = pattern(torch, 3, 4, seed=1)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "x": x,
        "g": pattern(torch, 3, 4, seed=2),
        "w": pattern(torch, 4, seed=3),
        "e": torch.tensor([-inf, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0, inf, nan]),
        "one": torch.ones(9),
        "unit": torch.tensor([-0.5, 0.0, 0.1, 0.5, 0.9, 1.0, 1.5, nan]),
        "eight": torch.ones(8),
        "hidden": torch.tensor([[0.0, -inf, 1.0], [-inf, -inf, -inf]]).requires_grad_(),
        "i": torch.tensor([[1, 2], [2, 5]]),
    }


_EDGES = [
    f"aten.{name}_backward(one, e{more})"
    for name, more in (
        ("threshold", ", 0"),
        ("hardtanh", ", -1, 1"),
        ("hardsigmoid", ""),
        ("hardswish", ""),
        ("leaky_relu", ", 0.1, False"),
        ("softplus", ", 2.0, 5.0"),
        ("sigmoid", ""),
        ("tanh", ""),
    )
]
CASES = (
    _EDGES
    + """
aten.threshold_backward(g.bfloat16(), x.bfloat16(), 0.5)
aten.gelu_backward(g.bfloat16(), x.bfloat16(), approximate='tanh')
aten.mish_backward(g.double(), x.double())
aten.elu_backward(g, 1.5, 1.2, 0.7, False, x)
aten.elu_backward(g, 1.5, 1.2, 0.7, True, x)
aten.logit_backward(eight, unit)
aten.logit_backward(eight, unit, 0.2)
aten.log_sigmoid_backward(g, x, aten.log_sigmoid_forward(x)[1])
torch.native_dropout(x, -0.5, True)
aten.glu_backward(g[:, :2], x, 1)
aten.glu_backward(g[:, :2], x, -1)
aten.sigmoid_backward(g * 1j, x * 1j)
aten.tanh_backward(g * 1j, x * (1 + 1j))
aten._softmax_backward_data(g, x.softmax(0), 0, torch.float32)
aten._log_softmax_backward_data(g.bfloat16(), x.log_softmax(1).bfloat16(), 1, torch.bfloat16)
aten._softmax_backward_data(g[:0], x[:0], 1, torch.float32)
torch.native_dropout(x, 0.5, False)
torch.native_dropout(x, 1.0, True)
torch.native_dropout(x[:0], 0.5, True)
torch.native_dropout(x, 1.5, True)
aten.native_dropout_backward(g, x > 0, 4.0)
aten.embedding_dense_backward(torch.ones(2, 2, 3), i, 6, 2, True)
aten.embedding_dense_backward(torch.ones(2, 2, 3).double(), i, 7, -1, False)
torch.native_layer_norm(x, [4], w, None, 1e-5)
torch.native_layer_norm(x, [3, 4], None, None, 1e-2)
torch.native_group_norm(x[:, :, None], w, w, 3, 4, 1, 2, 1e-5)
aten.native_layer_norm_backward(g, x, [4], *torch.native_layer_norm(x, [4], None, None, 1e-5)[1:], None, None, [True, False, False])[0]
aten.native_layer_norm_backward(g, x, [3, 4], *torch.native_layer_norm(x, [3, 4], None, None, 1e-5)[1:], x, g, [False, True, True])[1:]
torch._weight_norm(x, x[:, :1].abs(), 0)
torch._weight_norm(x, x[:1].abs(), 1)
torch._safe_softmax(hidden, 1)
torch._safe_softmax(hidden, 0)
torch._safe_softmax(hidden, 1, torch.float64)
""".strip().splitlines()
)
