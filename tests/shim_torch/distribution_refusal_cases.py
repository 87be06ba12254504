"""Calls that distributions refuse, and some near them that they do not; see distribution_part_cases.py."""

from __future__ import annotations


def _checked(d, value):
    return lambda: d.log_prob(value)


def _of_probabilities(torch, D):
    one = torch.ones(())
    T = torch.tensor
    yield "categorical", lambda: D.Categorical(T(1.0))
    yield "categorical_logits", lambda: D.Categorical(logits=T(1.0))
    yield "categorical_both", lambda: D.Categorical(T([1.0]), T([1.0]))
    yield "categorical_none", lambda: D.Categorical()
    yield "categorical_negative", lambda: D.Categorical(T([-1.0, 2.0]))
    yield "categorical_nan", lambda: D.Categorical(logits=T([torch.nan, 2.0]))
    yield "categorical_params", lambda: D.Categorical(T([1.0, 3.0])).probs
    yield "categorical_logits_kept", lambda: D.Categorical(logits=T([1.0, 3.0])).logits
    yield "continuous_bernoulli", lambda: D.ContinuousBernoulli(T([1.5]), validate_args=True)
    yield "continuous_bernoulli_silent", lambda: D.ContinuousBernoulli(T([1.5, 0.0, 0.3]), validate_args=False).probs
    yield "continuous_bernoulli_number", lambda: list(D.ContinuousBernoulli(0.3).batch_shape)
    yield "continuous_bernoulli_far", lambda: D.ContinuousBernoulli(logits=T([-90.0, 90.0])).mean
    yield (
        "continuous_bernoulli_lims",
        lambda: D.ContinuousBernoulli(T([0.45, 0.55], dtype=torch.float64), lims=(0.4, 0.6)).variance,
    )
    yield (
        "continuous_bernoulli_cdf",
        lambda: D.ContinuousBernoulli(T([0.2, 0.5, 0.9]), validate_args=False).cdf(T([[-0.5], [1.5]])),
    )
    yield "geometric_certain", lambda: D.Geometric(T([1.0, 1.0, 0.3])).log_prob(T([0.0, 2.0, 0.0]))
    yield "geometric_zero", lambda: D.Geometric(T([0.0, 0.5]))
    yield "gamma_edge", lambda: D.Gamma(T([1.0, 0.5, 2.0]), 1.0).log_prob(T(0.0))
    yield "gamma_number", lambda: D.Gamma(2.0, 3.0).log_prob(0.5)
    yield "dirichlet", lambda: D.Dirichlet(one)
    yield (
        "dirichlet_mode",
        lambda: D.Dirichlet(T([[0.5, 0.9, 0.2], [1.0, 1.0, 1.0], [0.5, 2.0, 3.0], [1.0, 0.5, 0.5]])).mode,
    )


def _of_counts(torch, D):
    T = torch.tensor
    normal = D.Normal(torch.zeros(2, 3), 1.0)
    weights = D.Categorical(torch.ones(2, 3))
    wide = D.Normal(torch.zeros(2, 2, 3), 1.0)
    yield "lkj", lambda: D.LKJCholesky(1)
    yield "lkj_number", lambda: [list(D.LKJCholesky(3, 2.0).batch_shape), list(D.LKJCholesky(3, 2.0).event_shape)]
    yield "lkj_wrong", lambda: D.LKJCholesky(3, -2.0)
    yield "mixture_weights", lambda: D.MixtureSameFamily(normal, normal)
    yield "mixture_components", lambda: D.MixtureSameFamily(weights, weights.probs)
    yield "mixture_shapes", lambda: D.MixtureSameFamily(D.Categorical(torch.ones(4, 3)), normal)
    yield "mixture_count", lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2, 4)), normal)
    yield "mixture_wide", lambda: list(D.MixtureSameFamily(weights, wide).batch_shape)
    yield "mixture_repr", lambda: repr(D.MixtureSameFamily(weights, normal))
    yield "mixture_expand", lambda: repr(D.MixtureSameFamily(weights, normal).expand((4, 2)))
    yield "multinomial_total", lambda: D.Multinomial(T([3, 4]), torch.ones(2, 2))
    yield "multinomial_never", lambda: D.Multinomial(2, T([0.0, 0.5, 0.5])).log_prob(T([0.0, 1.0, 1.0]))
    yield "multinomial_nothing", lambda: D.Multinomial(0, T([0.5, 0.5])).sample((2,))
    yield "multinomial_dtype", lambda: str(D.Multinomial(3, T([0.5, 0.5]).half()).sample().dtype)
    yield "multinomial_outside", _checked(D.Multinomial(2, T([0.5, 0.5])), T([2.0, 1.0]))
    yield "negative_binomial_zero", lambda: D.NegativeBinomial(T([0.0, 0.0]), T([0.5, 0.2])).log_prob(T([0.0, 1.0]))
    yield "binomial_counts", lambda: D.Binomial(T([3.0, 4.0]), T([0.5, 0.2])).enumerate_support()
    yield "binomial_counts_entropy", lambda: D.Binomial(T([3.0, 4.0]), T([0.5, 0.2])).entropy()
    yield "binomial_tails", lambda: D.Binomial(5, logits=T([-200.0, 200.0, 0.0])).log_prob(T([0.0, 5.0, 2.0]))


def _of_matrices(torch, D):
    one = torch.ones(())
    T = torch.tensor
    eye = torch.eye(2)
    yield "wishart_none", lambda: D.Wishart(T(3.0))
    yield "wishart_two", lambda: D.Wishart(T(3.0), eye, scale_tril=eye)
    yield "wishart_vector", lambda: D.Wishart(T(3.0), T([1.0, 2.0]))
    yield "wishart_low", lambda: D.Wishart(T([3.0, 0.5]), eye)
    yield "wishart_number", lambda: repr(D.Wishart(3, eye))
    yield "wishart_tril", lambda: D.Wishart(T(3.0), scale_tril=T([[1.0, 0.0], [0.5, 2.0]])).mean
    yield "wishart_mode", lambda: D.Wishart(T([2.0, 5.0]), eye).mode
    yield "wishart_attributes", lambda: sorted(vars(D.Wishart(T([3.0]), eye)))
    yield "mvn_vector", lambda: D.MultivariateNormal(one, eye)
    yield "mvn_none", lambda: D.MultivariateNormal(torch.ones(2))
    for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
        yield f"mvn_{name}", lambda name=name: D.MultivariateNormal(torch.ones(2), **{name: torch.ones(2)})
    yield "mvn_batches", lambda: D.MultivariateNormal(torch.ones(3, 2), eye.expand(4, 2, 2))
    yield "low_rank_loc", lambda: D.LowRankMultivariateNormal(one, eye, torch.ones(2))
    yield "low_rank_factor", lambda: D.LowRankMultivariateNormal(torch.ones(2), torch.ones(2), torch.ones(2))
    yield "low_rank_matrix", lambda: D.LowRankMultivariateNormal(torch.ones(2), torch.ones(3, 1), torch.ones(2))
    yield "low_rank_diag", lambda: D.LowRankMultivariateNormal(torch.ones(2), torch.ones(2, 1), torch.ones(3))
    yield (
        "low_rank_batches",
        lambda: D.LowRankMultivariateNormal(torch.ones(3, 2), torch.ones(4, 2, 1), torch.ones(2)),
    )
    yield (
        "low_rank_precision",
        lambda: D.LowRankMultivariateNormal(torch.ones(3, 2), T([[1.0], [0.5]]), torch.ones(2)).precision_matrix,
    )


def _transformed(torch, D):
    T = torch.tensor
    normal = D.Normal(torch.zeros(2, 3), 1.0)
    yield "transformed_type", lambda: D.TransformedDistribution(normal, "exp")
    yield "transformed_list", lambda: D.TransformedDistribution(normal, [D.ExpTransform(), 1])
    yield "transformed_tuple", lambda: D.TransformedDistribution(normal, (D.ExpTransform(),))
    yield "transformed_small", lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
    yield "transformed_none", lambda: D.TransformedDistribution(normal, []).log_prob(T(0.5))
    yield "transformed_none_support", lambda: repr(D.TransformedDistribution(normal, []).support)
    for name, base, steps in (
        ("events", D.Independent(normal, 1), [D.ExpTransform()]),
        ("vectors", normal, [D.StickBreakingTransform()]),
        ("after", normal, [D.ExpTransform(), D.StickBreakingTransform(), D.AffineTransform(0.0, 2.0)]),
        ("shapes", D.Normal(torch.zeros(2, 6), 1.0), [D.ReshapeTransform((6,), (2, 3)), D.ExpTransform()]),
        ("broadcast", D.Normal(torch.zeros(3), 1.0), [D.AffineTransform(torch.zeros(2, 1), 2.0)]),
        (
            "broadcast_events",
            D.Independent(D.Normal(torch.zeros(3), 1.0), 1),
            [D.AffineTransform(torch.zeros(2, 1), 2.0)],
        ),
        ("matrices", D.Normal(torch.zeros(2, 3), 1.0), [D.CorrCholeskyTransform()]),
    ):
        d = D.TransformedDistribution(base, steps)
        yield f"transformed_{name}", lambda d=d: [repr(d), repr(d.base_dist), list(d.batch_shape), list(d.event_shape)]
        yield f"transformed_{name}_support", lambda d=d: repr(d.support)

        def log_prob(d=d):
            torch.manual_seed(1)
            return d.log_prob(d.sample((2,)))

        yield f"transformed_{name}_log_prob", log_prob
        yield f"transformed_{name}_expand", lambda d=d: list(d.expand((5, *d.batch_shape)).sample().shape)


def _standard(torch, D):
    one = torch.ones(())
    T = torch.tensor
    yield "gumbel_numbers", lambda: [list(D.Gumbel(0.0, 1.0).batch_shape), list(D.Gumbel(T([0.0]), 1).batch_shape)]
    yield "gumbel_half", lambda: D.Gumbel(one.half(), one.half()).base_dist.high
    yield "gumbel_wrong", lambda: D.Gumbel(0.0, -1.0)
    yield (
        "gumbel_edges",
        lambda: torch.cat([D.Gumbel(0.0, 1.0).base_dist.low.view(1), D.Gumbel(0.0, 1.0).base_dist.high.view(1)]),
    )
    yield "weibull_wrong", lambda: D.Weibull(1.0, T([-1.0]))
    yield "weibull_reciprocal", lambda: D.Weibull(1.0, T([4.0])).concentration_reciprocal
    yield "kumaraswamy_wrong", lambda: D.Kumaraswamy(-1.0, T([1.0]))
    yield "kumaraswamy_number", lambda: list(D.Kumaraswamy(1.0, 2.0).batch_shape)
    yield "fisher_wrong", lambda: D.FisherSnedecor(1.0, -1.0)
    for name, cls in (("relaxed", D.RelaxedBernoulli), ("relaxed_one_hot", D.RelaxedOneHotCategorical)):
        yield f"{name}_none", lambda cls=cls: cls(one)
        yield f"{name}_temperature", lambda cls=cls: cls(one, T([0.3, 0.7])).temperature
        yield (
            f"{name}_expand",
            lambda cls=cls: repr(cls(one, T([[0.3, 0.7]])).expand((3, *cls(one, T([[0.3, 0.7]])).batch_shape))),
        )
    yield "one_hot_support", lambda: D.OneHotCategorical(torch.ones(2, 3)).enumerate_support()
    yield "one_hot_support_thin", lambda: D.OneHotCategorical(torch.ones(2, 3)).enumerate_support(False)
    yield "one_hot_outside", _checked(D.OneHotCategorical(torch.ones(3)), T([0.0, 1.0, 1.0]))


def _of_values(torch, D):
    T = torch.tensor
    eye = torch.eye(2)
    normal = D.Normal(torch.zeros(2, 3), 1.0)
    free = D.Normal(0.0, 1.0, validate_args=False)
    for name, value in (
        ("list", [1.0]),
        ("shape", torch.ones(4, 2)),
        ("nan", T(torch.nan)),
        ("fits", torch.zeros(1, 2, 1)),
        ("more", torch.zeros(5, 2, 3)),
    ):
        yield f"value_{name}", _checked(normal, value)
    yield "value_event", _checked(D.Independent(normal, 1), torch.ones(2, 3))
    yield "value_event_wrong", _checked(D.MultivariateNormal(torch.ones(2), eye), torch.ones(3))
    yield "value_unchecked", _checked(free, T(torch.inf))

    class NoSupport(D.Distribution):
        arg_constraints = {}

    def no_support():
        import warnings

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            NoSupport((2,))._validate_sample(torch.ones(2))
        return [str(w.message).replace("shim_torch", "torch") for w in seen][0].split("<locals>")[-1]

    yield "value_no_support", no_support


def _triangles(torch, D):
    T = torch.tensor
    vec = torch.arange(6.0)
    from_names = D.utils
    yield "broadcast_all", lambda: [list(x.shape) for x in from_names.broadcast_all(1, torch.ones(2, 1), torch.ones(3))]
    yield "broadcast_all_dtype", lambda: [str(x.dtype) for x in from_names.broadcast_all(1, T([1.0]).double(), 2.5)]
    yield "broadcast_all_numbers", lambda: [str(x.dtype) for x in from_names.broadcast_all(1, 2.0, True)]
    yield "broadcast_all_whole", lambda: [str(x.dtype) for x in from_names.broadcast_all(T([1, 2]), 2.5)]
    yield "broadcast_all_text", lambda: from_names.broadcast_all(1, "2")
    yield "broadcast_all_list", lambda: from_names.broadcast_all([1.0])
    yield "broadcast_all_none", lambda: from_names.broadcast_all(T([1.0]), None)
    yield "broadcast_all_shapes", lambda: from_names.broadcast_all(torch.ones(2), torch.ones(3))
    for diag in (-2, -1, 0, 1, 2):
        yield f"to_tril{diag}", lambda diag=diag: from_names.vec_to_tril_matrix(vec, diag)
        yield f"to_tril{diag}_five", lambda diag=diag: from_names.vec_to_tril_matrix(vec[:5], diag)
        yield f"to_tril{diag}_batch", lambda diag=diag: from_names.vec_to_tril_matrix(torch.ones(2, 3), diag)
        yield f"to_vec{diag}", lambda diag=diag: from_names.tril_matrix_to_vec(torch.arange(9.0).view(3, 3), diag)
    yield "to_vec_outside", lambda: from_names.tril_matrix_to_vec(torch.ones(2, 2), 2)
    yield "to_vec_outside_below", lambda: from_names.tril_matrix_to_vec(torch.ones(2, 2), -3)


def _registered(torch, D):
    c = D.constraints
    registry = D.constraint_registry.ConstraintRegistry()
    yield "register_text", lambda: registry.register("real", lambda c: c)
    yield "register_type", lambda: registry.register(int, lambda c: c)
    yield "register_instance", lambda: registry.register(c.real, lambda c: c) and registry(c.real) is c.real
    yield "register_class", lambda: registry.register(c.interval)(lambda c: 7) and registry(c.interval(0, 1))
    yield "register_decorator_wrong", lambda: registry.register(3)(lambda c: 7)
    yield "not_registered", lambda: registry(c.boolean)
    yield "independent_type", lambda: c.independent(1, 1)
    yield "independent_count", lambda: c.independent(c.real, "1")
    yield "independent_negative", lambda: c.independent(c.real, -1)


def _families(torch, D):
    T = torch.tensor
    eye = torch.eye(2)
    gamma, normals = D.Gamma(T([2.0, 3.0]), T([1.0, 0.5])), D.Normal(T([2.0, 3.0]), T([1.0, 0.5]))
    exponential = D.exp_family.ExponentialFamily
    kl = D.kl._kl_expfamily_expfamily if hasattr(D.kl, "_kl_expfamily_expfamily") else None
    for name, d, other in (
        ("gamma", gamma, D.Gamma(T([1.0, 4.0]), T([2.0, 1.5]))),
        ("normal", normals, D.Normal(T([1.0, 4.0]), T([2.0, 1.5]))),
        ("dirichlet", D.Dirichlet(T([[1.0, 2.0], [0.5, 3.0]])), D.Dirichlet(T([[2.0, 2.0], [1.5, 0.3]]))),
        ("bernoulli", D.Bernoulli(T([0.3, 0.6])), D.Bernoulli(T([0.1, 0.5]))),
        ("wishart", D.Wishart(T([3.0, 4.0]), eye), D.Wishart(T([2.5, 6.0]), 2 * eye)),
    ):
        yield f"family_entropy_{name}", lambda d=d: exponential.entropy(d)
        yield f"family_kl_{name}", lambda d=d, other=other: kl(d, other)
    yield "family_kl_other", lambda: kl(gamma, normals)

    def slopes(of):
        leaf = T([2.0, 3.0], requires_grad=True)
        return torch.autograd.grad(of(D.Gamma(leaf, T([1.0, 0.5]))).sum(), leaf)[0]

    yield "family_entropy_gradient", lambda: slopes(exponential.entropy)
    yield "family_kl_gradient", lambda: slopes(lambda d: kl(d, gamma))
    yield "family_kl_gradient_q", lambda: slopes(lambda d: kl(gamma, d))


def refusals(torch, D):
    for family in (
        _of_probabilities,
        _of_counts,
        _of_matrices,
        _transformed,
        _standard,
        _of_values,
        _triangles,
        _registered,
        _families,
    ):
        yield from family(torch, D)
