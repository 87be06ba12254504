"""Draws by seed, refusals, transforms and constraints, of one library given as ``torch``: shim-torch or PyTorch.

``tools/regenerate.py`` writes data/distribution_parts.json with PyTorch 2.13.
"""

from __future__ import annotations

import json
import pickle

from distribution_cases import _plain, cases
from distribution_refusal_cases import refusals


def _recorded(torch, f):
    """A value, or what it raises."""
    try:
        return _plain(torch, f())
    except Exception as error:
        return [type(error).__name__, " ".join(str(error).split()).replace("shim_torch", "torch")]


# How a gamma draw moves with its shape, PyTorch knows to three digits; of Wishart draws it finds no gradient.
OF_GAMMA = ("Gamma", "Chi2", "Beta", "StudentT", "FisherSnedecor", "InverseGamma", "Wishart")


def _draws(torch, D):
    """Of every distribution a sample, one of its expansion and one with gradients."""
    for name, (make, given, _) in cases(torch, D).items():
        d = make(**(given or {}))

        def drawn(how, d=d):
            torch.manual_seed(3)
            return how(d)

        yield f"{name}.sample", lambda drawn=drawn: drawn(lambda m: m.sample((2,)))
        yield f"{name}.one", lambda drawn=drawn: drawn(lambda m: m.sample())
        yield (
            f"{name}.expanded",
            lambda drawn=drawn: drawn(lambda m: m.expand((2, *m.batch_shape), m.__new__(type(m))).sample()),
        )
        if d.has_rsample:
            yield f"{name}.rsample", lambda drawn=drawn: drawn(lambda m: m.rsample((2, 1)))
        if not name.startswith("Gumbel"):  # PyTorch's inverse transforms do not survive pickling
            yield f"{name}.pickled", lambda d=d, drawn=drawn: drawn(lambda _: pickle.loads(pickle.dumps(d)).sample())

        def gradient(make=make, given=given):
            given = {k: v.clone().requires_grad_() if torch.is_tensor(v) else v for k, v in (given or {}).items()}
            leaves = [v for v in given.values() if torch.is_tensor(v)]
            torch.manual_seed(3)
            found = torch.autograd.grad(make(**given).rsample((3,)).sum(), leaves, allow_unused=True)
            return torch.cat([f.reshape(-1) for f in found if f is not None])

        if d.has_rsample and given and not name.startswith(OF_GAMMA):
            yield f"{name}.d_rsample", gradient


def _steps(torch, D):
    """Transforms: (the transform, a value of its domain)."""

    def T(x):
        return torch.tensor(x, dtype=torch.float64)

    three, six = T([0.3, -1.2, 0.7]), T([0.3, -1.2, 0.7, 0.1, 2.0, -0.4])
    affine = D.AffineTransform(1.0, T([2.0, -3.0, 0.5]))
    grown = D.IndependentTransform(D.ExpTransform(), 1)
    shape = D.ReshapeTransform((6,), (2, 3))
    yield "affine", affine, three
    yield "affine_of_events", D.AffineTransform(T([1.0, 2.0, 3.0]), 2.0, event_dim=1), three.expand(2, 3)
    yield "affine_of_numbers", D.AffineTransform(0.5, -2.0), three
    yield "affine_broadcast", D.AffineTransform(T([[1.0], [2.0]]), 2), three
    yield "power", D.PowerTransform(T([2.0, -1.0, 0.5])), three.abs()
    yield "nothing", D.ComposeTransform([]), three
    yield "compose", D.ComposeTransform([D.ExpTransform(), affine]), three
    yield "compose_events", D.ComposeTransform([affine, grown]), three.expand(2, 3)
    yield "compose_events_first", D.ComposeTransform([grown, affine]), three.expand(2, 3)
    yield "compose_shapes", D.ComposeTransform([shape, D.ExpTransform()]), six.expand(2, 6)
    yield "compose_shapes_first", D.ComposeTransform([D.ExpTransform(), shape]), six.expand(2, 6)
    yield "compose_vectors", D.ComposeTransform([D.StickBreakingTransform(), D.SigmoidTransform()]), three.expand(2, 3)
    yield "compose_cached", D.ComposeTransform([D.ExpTransform(), affine], cache_size=1), three
    halved = D.AffineTransform(0.0, 0.5)
    yield "compose_compose", D.ComposeTransform([D.ComposeTransform([halved, grown]), shape.inv.inv]), six
    yield "correlation", D.CorrCholeskyTransform(), six
    yield "correlations", D.CorrCholeskyTransform(), torch.stack([three, 20 * three])
    yield "correlation_of_two", D.CorrCholeskyTransform(), three[:1]
    yield "correlation32", D.CorrCholeskyTransform(), six.float()
    yield "correlation_backwards", D.CorrCholeskyTransform().inv, D.CorrCholeskyTransform()(six)


def _of_step(torch, t, x):
    yield "call", lambda: t(x)
    yield "back", lambda: t.inv(t(x))
    yield "log_det", lambda: t.log_abs_det_jacobian(x, t(x))
    yield "log_det_back", lambda: t.inv.log_abs_det_jacobian(t(x), x)
    yield "shapes", lambda: [list(t.forward_shape(x.shape)), list(t.inverse_shape(t(x).shape))]
    yield "domain", lambda: [repr(t.domain), t.domain.event_dim]
    yield "codomain", lambda: [repr(t.codomain), t.codomain.event_dim]
    yield "sign", lambda: t.sign
    yield "bijective", lambda: bool(t.bijective)
    for shape in ((), (3,), (4,), (2, 3), (3, 3), (1,)):
        yield f"forward{list(shape)}", lambda shape=shape: list(t.forward_shape(torch.Size(shape)))
        yield f"backward{list(shape)}", lambda shape=shape: list(t.inverse_shape(torch.Size(shape)))

    def gradient():
        leaf = x.clone().requires_grad_()
        y = t(leaf)
        return torch.autograd.grad(y.sum() + t.log_abs_det_jacobian(leaf, y).sum(), leaf)[0]

    yield "gradient", gradient


def _constrained(torch, c):
    """Constraints: (the constraint, a value)."""

    def T(x):
        return torch.tensor(x)

    yield c.independent(c.positive, 1), T([[1.0, 2.0], [1.0, -1.0]])
    yield c.independent(c.positive, 0), T([[1.0, 2.0], [1.0, -1.0]])
    yield c.independent(c.positive, 2), T([[1.0, 2.0], [1.0, -1.0]])
    yield c.independent(c.simplex, 1), T([[0.5, 0.5], [1.0, -1.0]])
    yield c.independent(c.simplex, 2), T([[0.5, 0.5], [1.0, -1.0]])
    yield c.independent(c.positive, 2), T([1.0, 2.0])
    yield c.stack([c.positive, c.real, c.unit_interval]), T([[1.0, -1.0], [2.0, 3.0], [0.5, 3.0]])
    yield c.stack([c.positive, c.real], -1), T([[1.0, -1.0], [2.0, 3.0], [-0.5, 3.0]])
    yield c.stack([c.positive, c.real], 2), T([1.0, 2.0])
    yield c.stack([c.simplex, c.real_vector], -2), T([[0.5, 0.5], [0.5, 0.6]])
    yield c.cat([c.positive, c.real], -1, [1, 2]), T([[1.0, -1.0, 0.0], [-2.0, 3.0, 0.0]])
    yield c.cat([c.positive, c.boolean], 0), T([1.0, -1.0])
    yield c.cat([c.positive, c.boolean], 1), T([1.0, -1.0])
    yield c.MixtureSameFamilyConstraint(c.interval(T([0.0, 1.0]), T([2.0, 3.0]))), T([0.5, 1.5, 2.5])
    yield c.MixtureSameFamilyConstraint(c.independent(c.positive, 1)), T([0.5, 1.5])
    yield c.MixtureSameFamilyConstraint(c.independent(c.positive, 1)), T(0.5)


def _of_constraint(c, constraint, value):
    yield "check", lambda: constraint.check(value)
    yield "repr", lambda: repr(constraint).split(" object")[0].split(".")[-1]
    yield "dims", lambda: [constraint.event_dim, constraint.is_discrete]


def values(torch, D):
    found = {}
    for name, f in (*_draws(torch, D), *refusals(torch, D)):
        found[name] = _recorded(torch, f)
    for name, t, x in _steps(torch, D):
        for what, f in _of_step(torch, t, x):
            found[f"step.{name}.{what}"] = _recorded(torch, f)
    for i, (constraint, value) in enumerate(_constrained(torch, D.constraints)):
        for what, f in _of_constraint(D.constraints, constraint, value):
            found[f"constraint.{i}.{what}"] = _recorded(torch, f)
    return found


def written(torch):
    """The values of PyTorch, to be stored."""
    rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in values(torch, torch.distributions).items())
    return "{\n" + ",\n".join(rows) + "\n}\n"
