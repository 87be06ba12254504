"""``torch.distributions``: a module for each distribution, as PyTorch has them.

Shared parts: distribution.py (``expand``, validation), exp_family.py, _probs_or_logits.py, _location_scale.py, _folded.py,
_from_standard.py (draws that go through transforms), multivariate_normal.py (one matrix of three).
"""

from __future__ import annotations

from shim_torch._impl.distributions import kl_registry
from shim_torch._impl.surface import naming
from shim_torch.distributions import constraints, transforms, utils
from shim_torch.distributions.bernoulli import Bernoulli
from shim_torch.distributions.beta import Beta
from shim_torch.distributions.binomial import Binomial
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.cauchy import Cauchy
from shim_torch.distributions.chi2 import Chi2
from shim_torch.distributions.constraint_registry import biject_to, transform_to
from shim_torch.distributions.continuous_bernoulli import ContinuousBernoulli
from shim_torch.distributions.dirichlet import Dirichlet
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.exponential import Exponential
from shim_torch.distributions.fishersnedecor import FisherSnedecor
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.generalized_pareto import GeneralizedPareto
from shim_torch.distributions.geometric import Geometric
from shim_torch.distributions.gumbel import Gumbel
from shim_torch.distributions.half_cauchy import HalfCauchy
from shim_torch.distributions.half_normal import HalfNormal
from shim_torch.distributions.independent import Independent
from shim_torch.distributions.inverse_gamma import InverseGamma
from shim_torch.distributions.kl import kl_divergence, register_kl
from shim_torch.distributions.kumaraswamy import Kumaraswamy
from shim_torch.distributions.laplace import Laplace
from shim_torch.distributions.lkj_cholesky import LKJCholesky
from shim_torch.distributions.log_normal import LogNormal
from shim_torch.distributions.logistic_normal import LogisticNormal
from shim_torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from shim_torch.distributions.mixture_same_family import MixtureSameFamily
from shim_torch.distributions.multinomial import Multinomial
from shim_torch.distributions.multivariate_normal import MultivariateNormal
from shim_torch.distributions.negative_binomial import NegativeBinomial
from shim_torch.distributions.normal import Normal
from shim_torch.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from shim_torch.distributions.pareto import Pareto
from shim_torch.distributions.poisson import Poisson
from shim_torch.distributions.relaxed_bernoulli import RelaxedBernoulli
from shim_torch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from shim_torch.distributions.studentT import StudentT
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from shim_torch.distributions.uniform import Uniform
from shim_torch.distributions.von_mises import VonMises
from shim_torch.distributions.weibull import Weibull
from shim_torch.distributions.wishart import Wishart

naming.present(vars(kl_registry), "torch.distributions.kl")

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
