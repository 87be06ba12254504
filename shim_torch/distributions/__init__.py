"""``torch.distributions``: continuous.py, discrete.py and gamma.py hold the distributions."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions import (
    constraints,
    continuous,
    discrete,
    distribution,
    gamma,
    kl,
    multivariate,
    tails,
    transforms,
    utils,
)
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
from shim_torch.distributions.multivariate import Binomial, MixtureSameFamily, Multinomial, MultivariateNormal
from shim_torch.distributions.tails import Cauchy, FisherSnedecor, HalfCauchy, InverseGamma, Pareto, Weibull
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
    "Binomial",
    "Cauchy",
    "FisherSnedecor",
    "HalfCauchy",
    "InverseGamma",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "Pareto",
    "Weibull",
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
    "constraints",
    "identity_transform",
    "kl",
    "transforms",
    "utils",
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
normal = uniform = laplace = exponential = gumbel = half_normal = log_normal = continuous  # PyTorch's file names
bernoulli = categorical = geometric = one_hot_categorical = discrete
beta = chi2 = dirichlet = studentT = poisson = negative_binomial = transformed_distribution = gamma
independent = exp_family = distribution
cauchy = half_cauchy = pareto = weibull = inverse_gamma = fishersnedecor = tails
binomial = multinomial = multivariate_normal = mixture_same_family = multivariate


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributions", name)
