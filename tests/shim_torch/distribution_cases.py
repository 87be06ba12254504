"""Values of every distribution, of one library given as ``torch``: shim-torch, or the PyTorch that made the expected ones.

``tools/regenerate.py`` writes data/distribution_values.json with PyTorch 2.13.
"""

from __future__ import annotations

import json
import math


def cases(torch, D):
    """name: (class, arguments, a value), or (function, None, a value)."""
    found = {}

    def T(x):
        return torch.tensor(x, dtype=torch.float64)

    def add(name, given, value, cls=None):
        found[name] = (getattr(D, cls or name), given, value)

    real, low, high = T([-1.2, 0.3, 2.0]), T([0.3, 0.7, 2.5]), T([1.7, 0.2, 4.0])
    unit, simplex = T([0.1, 0.5, 0.93]), T([0.2, 0.3, 0.5])
    _continuous(add, T, real, low, high, unit, simplex)
    _discrete(add, T, unit, simplex)
    _vectors(torch, add, T, real, low, high, simplex)
    _composed(found, D, T, real, low, high, unit)
    return found


def _continuous(add, T, real, low, high, unit, simplex):
    heavy = T([0.5, 1.5, 4.0])
    for name in ("Normal", "Laplace", "Cauchy", "Gumbel"):
        add(name, {"loc": real, "scale": low}, T([0.4, -2.0, 3.0]))
        add(name + "2", {"loc": real + 1, "scale": high}, low, name)
    add("LogNormal", {"loc": real, "scale": low}, high)
    add("LogNormal2", {"loc": real + 1, "scale": high}, low, "LogNormal")
    for name in ("HalfNormal", "HalfCauchy"):
        add(name, {"scale": low}, high)
    add("HalfNormal2", {"scale": high}, low, "HalfNormal")
    add("Uniform", {"low": real, "high": real + low}, real + low * 0.3)
    add("UniformInside", {"low": T([0.1, 0.2, 0.3]), "high": T([0.7, 0.8, 0.9])}, T([0.4, 0.5, 0.6]), "Uniform")
    add("UniformWide", {"low": T([-0.1, 0.0, -2.0]), "high": T([1.7, 1.0, 3.0])}, T([0.4, 0.5, 0.6]), "Uniform")
    add("Exponential", {"rate": low}, high)
    add("Gamma", {"concentration": low, "rate": high}, high)
    add("Chi2", {"df": low}, high)
    add("Beta", {"concentration1": low, "concentration0": high}, unit)
    add("Beta2", {"concentration1": T([0.5, 2.0, 3.0]), "concentration0": T([0.3, 2.0, 1.0])}, unit, "Beta")
    add("Dirichlet", {"concentration": T([[0.3, 0.7, 2.5], [0.1, 0.2, 0.3], [2.0, 3.0, 4.0]])}, simplex)
    add("StudentT", {"df": heavy, "loc": real, "scale": low}, high)
    add("FisherSnedecor", {"df1": T([0.5, 3.0, 4.0]), "df2": T([1.0, 3.0, 6.0])}, high)
    add("Pareto", {"scale": low, "alpha": heavy}, low + high)
    add("ParetoLow", {"scale": T([0.05, 0.1, 0.2]), "alpha": heavy}, low + high, "Pareto")
    add("Weibull", {"scale": low, "concentration": high}, high)
    add("InverseGamma", {"concentration": heavy, "rate": high}, high)
    add("Kumaraswamy", {"concentration1": T([0.5, 2.0, 3.0]), "concentration0": T([0.3, 1.5, 4.0])}, unit)
    add("VonMises", {"loc": real, "concentration": high}, T([0.4, -2.0, 3.0]))
    for name, c in (("", [-0.3, 0.0, 0.6]), ("2", [1.3, 0.3, 0.4])):
        given = {"loc": real.float(), "scale": low.float(), "concentration": T(c).float()}
        add("GeneralizedPareto" + name, given, (real + low * 0.5).float(), "GeneralizedPareto")
    add("ContinuousBernoulli", {"probs": T([0.1, 0.5, 0.4995])}, unit)


def _discrete(add, T, unit, simplex):
    """By ``probs`` and by ``logits``."""
    for kind, one, each in (
        ("probs", T([0.1, 0.5, 0.9]), T([[0.1, 0.5, 0.4], [1.0, 1.0, 2.0]])),
        ("logits", T([-1.0, 0.001, 2.0]), T([[-1.0, 0.0, 2.0], [0.0, 0.0, 0.1]])),
    ):
        for name in (
            "Bernoulli",
            "Geometric",
            "Binomial",
            "NegativeBinomial",
            "RelaxedBernoulli",
            "ContinuousBernoulli",
        ):
            more = {
                "Binomial": {"total_count": 6},
                "NegativeBinomial": {"total_count": T([1.0, 3.5, 6.0])},
                "RelaxedBernoulli": {"temperature": T(0.7)},
            }
            value = unit if name in ("RelaxedBernoulli", "ContinuousBernoulli") else T([1.0, 0.0, 1.0])
            add(name + kind, {**more.get(name, {}), kind: one}, value, name)
        vectors = T([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        add("Categorical" + kind, {kind: each}, T([1.0, 2.0]), "Categorical")
        add("OneHotCategorical" + kind, {kind: each}, vectors, "OneHotCategorical")
        add("Multinomial" + kind, {"total_count": 4, kind: each}, T([[0.0, 1.0, 3.0], [1.0, 1.0, 2.0]]), "Multinomial")
        given = {"temperature": T(0.7), kind: each}
        add("RelaxedOneHotCategorical" + kind, given, simplex, "RelaxedOneHotCategorical")
    add("BinomialCertain", {"total_count": 6, "probs": T([0.3, 0.5, 1.0])}, T([1.0, 0.0, 6.0]), "Binomial")


def _vectors(torch, add, T, real, low, high, simplex):
    matrix = T([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]])
    add("Poisson", {"rate": low}, T([1.0, 0.0, 5.0]))
    add("LogisticNormal", {"loc": T([0.1, 0.2]), "scale": T([0.5, 2.0])}, simplex)
    two, normal = torch.stack([real, low]), "MultivariateNormal"
    add(normal, {"loc": two, "covariance_matrix": matrix}, high)
    add(normal + "Precision", {"loc": real, "precision_matrix": torch.stack([matrix, 2 * matrix])}, high, normal)
    add(normal + "Tril", {"loc": real, "scale_tril": torch.linalg.cholesky(matrix)}, two, normal)
    normal = "LowRankMultivariateNormal"
    add(normal, {"loc": real, "cov_factor": T([[1.0], [2.0], [0.5]]), "cov_diag": low}, high)
    given = {"loc": real + 1, "cov_factor": T([[1.0, 0.1], [0.2, -1.0], [0.5, 0.3]]), "cov_diag": high}
    add(normal + "2", given, high, normal)
    add("Wishart", {"df": T([4.0, 5.5]), "covariance_matrix": matrix}, matrix * 2)
    add("WishartPrecision", {"df": T(3.5), "precision_matrix": matrix}, matrix * 2, "Wishart")
    correlation = T([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]])
    add("LKJCholesky", {"dim": 3, "concentration": T([0.5, 2.0])}, torch.linalg.cholesky(correlation))


def _composed(found, D, T, real, low, high, unit):
    parts = D.Normal(T([[0.0, 1.0], [2.0, 3.0]]), T([[1.0, 2.0], [0.5, 0.1]]))
    weights = D.Categorical(T([[0.3, 0.7], [0.5, 0.5]]))
    steps = [D.AffineTransform(1.0, -2.0), D.SigmoidTransform()]
    found["Mixture"] = (lambda: D.MixtureSameFamily(weights, parts), None, T([0.5, 2.0]))
    found["MixtureOfVectors"] = (
        lambda: D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), D.Independent(parts, 1)),
        None,
        T([0.5, 2.0]),
    )
    found["Independent"] = (lambda: D.Independent(D.Gamma(low, high), 1), None, high)
    found["Independent2"] = (lambda: D.Independent(D.Gamma(high, low), 1), None, high)
    found["Transformed"] = (lambda: D.TransformedDistribution(D.Normal(real, low), steps), None, unit)


def _plain(torch, x):
    if isinstance(x, torch.Tensor):
        numbers = [float(v) for v in x.detach().reshape(-1).double().tolist()]
        return [list(x.shape), [float(f"{v:.9g}") for v in numbers]]
    return x


def _recorded(torch, f):
    """A value, or what it raises."""
    try:
        return _plain(torch, f())
    except (NotImplementedError, ValueError, AttributeError, RuntimeError) as error:
        return [type(error).__name__, " ".join(str(error).split()).replace("shim_torch", "torch")]


def _of_one(torch, d, value):
    yield "repr", lambda: repr(d)
    yield "shapes", lambda: [list(d.batch_shape), list(d.event_shape)]
    yield "has", lambda: [bool(d.has_rsample), bool(d.has_enumerate_support)]
    yield "support", lambda: type(d.support).__name__
    for name in ("mean", "mode", "variance", "stddev"):
        yield name, lambda name=name: getattr(d, name)
    yield "entropy", d.entropy
    yield "perplexity", d.perplexity
    yield "log_prob", lambda: d.log_prob(value)
    yield "cdf", lambda: d.cdf(value)
    yield "icdf", lambda: d.icdf(torch.tensor([0.1, 0.5, 0.8], dtype=value.dtype))
    yield "support_values", d.enumerate_support
    yield "support_values_thin", lambda: d.enumerate_support(False)
    yield "expanded", lambda: d.expand((2, *d.batch_shape)).log_prob(value)
    yield "expanded_repr", lambda: repr(d.expand((2, *d.batch_shape)))
    yield "drawn", lambda: [list(d.sample((2, 5)).shape), str(d.sample().dtype)]
    yield "drawn_with_gradient", lambda: list(d.rsample((2,)).shape)


def _gradients(torch, made, given, value):
    for name, tensor in (given or {}).items():
        for what in ("log_prob", "entropy", "mean", "variance", "cdf"):
            if not isinstance(tensor, torch.Tensor):
                continue

            def gradient(name=name, tensor=tensor, what=what):
                leaf = tensor.clone().requires_grad_()
                found = getattr(made(**{**given, name: leaf}), what)
                found = found(value) if what in ("log_prob", "cdf") else found() if what == "entropy" else found
                return torch.autograd.grad(found.sum(), leaf)[0]

            yield f"d_{what}/d_{name}", gradient

    def by_value():
        leaf = value.clone().requires_grad_()
        return torch.autograd.grad(made(**(given or {})).log_prob(leaf).sum(), leaf)[0]

    yield "d_log_prob/d_value", by_value


def values(torch, D):
    """Everything of every case, and the divergences of every pair that has one."""
    torch.manual_seed(0)
    found, made = {}, {}
    for name, (make, given, value) in cases(torch, D).items():
        made[name] = d = make(**(given or {}))
        for what, f in (*_of_one(torch, d, value), *_gradients(torch, make, given, value)):
            found[f"{name}.{what}"] = _recorded(torch, f)
    for a, p in made.items():
        for b, q in made.items():
            kl = _recorded(torch, lambda p=p, q=q: D.kl_divergence(p, q))
            if kl[0] not in ("NotImplementedError", "RuntimeError"):
                found[f"kl.{a}.{b}"] = kl
    return found


def same(a, b):
    """Equal, numbers up to rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-8) or a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def written(torch):
    """The values of PyTorch, to be stored."""
    rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in values(torch, torch.distributions).items())
    return "{\n" + ",\n".join(rows) + "\n}\n"
