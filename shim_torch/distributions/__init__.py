"""``torch.distributions``: continuous.py, discrete.py and gamma.py hold the distributions."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions.continuous import Exponential, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from shim_torch.distributions.discrete import Bernoulli, Categorical, Geometric, OneHotCategorical
from shim_torch.distributions.distribution import Distribution, ExponentialFamily, Independent
from shim_torch.distributions.gamma import (
    Beta,
    Chi2,
    Dirichlet,
    Gamma,
    NegativeBinomial,
    Poisson,
    StudentT,
    TransformedDistribution,
)
from shim_torch.distributions.kl import kl_divergence, register_kl
from shim_torch.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AffineTransform",
    "Beta",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "ExpTransform",
    "Gamma",
    "NegativeBinomial",
    "Poisson",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "identity_transform",
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "Normal",
    "OneHotCategorical",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
_FILES = {
    "normal": "continuous",
    "uniform": "continuous",
    "laplace": "continuous",
    "bernoulli": "discrete",
    "categorical": "discrete",
}


def __getattr__(name: str) -> Any:
    if name in ("constraints", "utils") or name in _FILES:
        from importlib import import_module

        return import_module(f"shim_torch.distributions.{_FILES.get(name, name)}")
    from shim_torch._missing import missing

    return missing("torch.distributions", name)
