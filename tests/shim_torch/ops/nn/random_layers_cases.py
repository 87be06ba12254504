"""Layers that draw, where nothing is drawn or the draws are given, and activations beside them."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": (pattern(torch, 2, 3, 5, 6, seed=1) * 2).requires_grad_(),
        "e": torch.tensor([0.0, -0.0, 1e-8, -1e-8, 90.0, -90.0, float("inf"), -float("inf"), float("nan")]),
        "u": pattern(torch, 2, 3, 2, seed=2).abs() / 2.1,
        "v": pattern(torch, 1, 2, 4, 5, 6, seed=3).requires_grad_(),
        "w": pattern(torch, 1, 2, 3, seed=4).abs() / 2.1,
        "y": pattern(torch, 3, 4, seed=5),
    }


CASES = """
F.selu(x)
F.selu(e)
F.celu(x, 0.5)
F.celu(e, 2.0)
F.celu(x, 0)
F.celu(y.long())
torch.celu_(y.clone(), 1.5)
torch.selu_(y.clone())
F.rrelu(x, 0.2, 0.4)
F.rrelu(y.clone(), 0.2, 0.2, True)
torch.rrelu_(y.clone(), 0.1, 0.3)
F.fractional_max_pool2d(x, 2, output_size=(3, 3), _random_samples=u)
F.fractional_max_pool2d(x, (2, 3), output_ratio=(0.5, 0.5), _random_samples=u)
F.fractional_max_pool3d(v[0, 0], 2, output_size=2, _random_samples=w)
F.fractional_max_pool2d(x, 2, output_size=2, _random_samples=u, return_indices=True)
F.fractional_max_pool3d(v, 2, output_size=(2, 3, 3), _random_samples=w)
F.fractional_max_pool2d(x, 2, output_size=(6, 3), _random_samples=u)
F.fractional_max_pool2d(x[0, 0], 2, output_size=2, _random_samples=u)
F.fractional_max_pool2d(x, 2, output_size=2, _random_samples=u[:, :2])
F.fractional_max_pool2d(x, 2)
F.fractional_max_pool2d(x, 2, output_size=2, output_ratio=0.5)
F.alpha_dropout(x, 0.5, False)
F.alpha_dropout(x, 0.0, True)
F.alpha_dropout(x, 1.0, True)
F.alpha_dropout(x, 1.5, True)
F.feature_alpha_dropout(x, 0.4, False)
F.feature_alpha_dropout(y[0], 0.4, True)
F.dropout2d(x, 0.0)
F.dropout2d(x, 1.0)
F.dropout3d(x, -0.1)
torch.feature_dropout(x, 1.0, True)
""".strip().splitlines()
