"""Distributions over single precision: values, texts, divergences and refusals, of the library given as ``torch``."""

import json


def cases(torch):
    """name: (distribution, a value)."""
    D, T = torch.distributions, torch.tensor
    X = T([0.3, 0.7])
    return {
        "normal": (D.Normal(T([0.0, 1.0]), T([1.0, 2.0])), X),
        "lognormal": (D.LogNormal(T([0.0, 1.0]), T([1.0, 2.0])), X),
        "uniform": (D.Uniform(T([0.0, 0.0]), T([1.0, 2.0])), X),
        "laplace": (D.Laplace(T([0.0, 1.0]), T([1.0, 2.0])), X),
        "gumbel": (D.Gumbel(T([0.0, 1.0]), T([1.0, 2.0])), X),
        "exponential": (D.Exponential(T([0.5, 2.0])), X),
        "halfnormal": (D.HalfNormal(T([0.5, 2.0])), X),
        "bernoulli": (D.Bernoulli(T([0.2, 0.6])), T([1.0, 0.0])),
        "bernoulli_l": (D.Bernoulli(logits=T([0.2, -0.6])), T([1.0, 0.0])),
        "categorical": (D.Categorical(T([[0.2, 0.3, 0.6], [1.0, 1.0, 1.0]])), T([2, 0])),
        "categorical_l": (D.Categorical(logits=T([[0.2, 0.3, 0.6], [1.0, 1.0, 1.0]])), T([2, 0])),
        "geometric": (D.Geometric(T([0.2, 0.5])), T([3.0, 0.0])),
        "onehot": (D.OneHotCategorical(T([0.2, 0.3, 0.5])), T([0.0, 1.0, 0.0])),
        "gamma": (D.Gamma(T([0.5, 2.0]), T([1.0, 3.0])), X),
        "chi2": (D.Chi2(T([1.0, 3.0])), X),
        "beta": (D.Beta(T([0.5, 2.0]), T([1.0, 3.0])), X),
        "dirichlet": (D.Dirichlet(T([0.5, 2.0, 1.0])), T([0.2, 0.3, 0.5])),
        "student": (D.StudentT(T([3.0, 5.0]), T([0.0, 1.0]), T([1.0, 2.0])), X),
        "poisson": (D.Poisson(T([0.5, 2.0])), T([1.0, 3.0])),
        "negbin": (D.NegativeBinomial(T([2.0, 3.0]), logits=T([0.5, -1.0])), T([1.0, 3.0])),
        "cauchy": (D.Cauchy(T([0.1, 2.0]), T([1.0, 0.5])), X),
        "halfcauchy": (D.HalfCauchy(T([1.0, 0.5])), X),
        "pareto": (D.Pareto(T([0.2, 0.5]), T([3.0, 2.5])), X),
        "weibull": (D.Weibull(T([1.0, 2.0]), T([1.5, 2.7])), X),
        "inversegamma": (D.InverseGamma(T([3.0, 2.5]), T([1.0, 2.0])), X),
        "fisher": (D.FisherSnedecor(T([3.0, 5.0]), T([6.0, 7.0])), X),
        "binomial": (D.Binomial(5, probs=T([0.3, 0.6])), T([2.0, 4.0])),
        "binomial_l": (D.Binomial(5, logits=T([0.3, -2.0])), T([2.0, 0.0])),
        "multinomial": (D.Multinomial(4, probs=T([0.2, 0.3, 0.5])), T([1.0, 1.0, 2.0])),
        "mvn": (D.MultivariateNormal(T([0.1, 0.2]), covariance_matrix=T([[2.0, 0.5], [0.5, 1.0]])), X),
        "mvn_p": (D.MultivariateNormal(T([0.1, 0.2]), precision_matrix=T([[2.0, 0.5], [0.5, 1.0]])), X),
        "mixture": (D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), D.Normal(T([0.0, 1.0]), T([1.0, 2.0]))), T(0.5)),
        "indep": (D.Independent(D.Normal(T([0.0, 1.0]), T([1.0, 2.0])), 1), X),
    }


def transformed(torch):
    """name: a distribution made of transforms, whose density at 0.3 and 0.7 is looked at."""
    D, T = torch.distributions, torch.tensor
    N = D.Normal(T([0.0, 1.0]), T([1.0, 2.0]))
    return {
        "affine": D.TransformedDistribution(N, [D.AffineTransform(1.0, T([2.0, 3.0]))]),
        "lognormal_t": D.TransformedDistribution(N, D.ExpTransform()),
        "logistic": D.TransformedDistribution(
            D.Uniform(T([0.0, 0.0]), T([1.0, 1.0])), [D.SigmoidTransform().inv, D.AffineTransform(1.0, 2.0)]
        ),
        "tanh": D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()]),
    }


def pairs(torch):
    """name: two distributions, whose divergence is looked at."""
    D, T = torch.distributions, torch.tensor
    return {
        "normal": (D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)),
        "cat": (D.Categorical(T([0.2, 0.8])), D.Categorical(T([0.5, 0.5]))),
        "bern": (D.Bernoulli(T([0.2, 0.0, 1.0])), D.Bernoulli(T([0.5, 0.1, 0.3]))),
        "unif": (D.Uniform(T([0.0, 0.0]), T([1.0, 1.0])), D.Uniform(T([0.0, 0.5]), T([2.0, 1.0]))),
        "exp": (D.Exponential(1.0), D.Exponential(2.0)),
        "lap": (D.Laplace(0.0, 1.0), D.Laplace(1.0, 2.0)),
    }


def refused(torch):
    """Calls that are a ValueError."""
    D, T = torch.distributions, torch.tensor
    return [
        lambda: D.Normal(0.0, -1.0),
        lambda: D.Categorical(T(1.0)),
        lambda: D.Bernoulli(T([2.0])),
        lambda: D.Uniform(0.0, 1.0).log_prob(T(3.0)),
        lambda: D.Categorical(),
        lambda: D.Uniform(1.0, 0.0),
    ]


ASKED = ("log_prob", "entropy", "mean", "variance", "cdf")


def asked(distribution, what, value):
    """The numbers of one of ``ASKED``."""
    found = getattr(distribution, what)
    return found(value) if what in ("log_prob", "cdf") else found() if what == "entropy" else found


def _digits(tensor):
    return [float(f"{x:.6g}") for x in tensor.reshape(-1).tolist()]


def _text(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("not refused")


def written(torch):
    """What PyTorch gives, to be stored."""
    found = {}
    for name, (distribution, value) in cases(torch).items():
        for what in ASKED:
            try:
                found[f"{name}.{what}"] = _digits(asked(distribution, what, value))
            except NotImplementedError:  # no such formula
                continue
        found[f"{name}.repr"] = repr(distribution)
    for name, distribution in transformed(torch).items():
        found[f"{name}.log_prob"] = _digits(distribution.log_prob(torch.tensor([0.3, 0.7])))
    for name, two in pairs(torch).items():
        found[f"kl.{name}"] = _digits(torch.distributions.kl_divergence(*two))
    found["refused"] = [_text(call) for call in refused(torch)]
    rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"
