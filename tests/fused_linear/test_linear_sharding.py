"""The sharding rule of linear, carried out on parts of arrays: what the devices hold adds up to the whole product."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shim_torch_linear import LinearSharding, linear_grad_sharding, linear_sharding


def part(array, mapping, mesh, place):
    """What the device at ``place`` of ``mesh`` holds."""
    for axis, d in enumerate(mapping):
        if d >= 0:
            array = np.split(array, mesh[d], axis)[place[d]]
    return array


def gathered(parts, mapping, mesh, partial):
    """The whole from every device's part: summed over the partial mesh dimensions, put together along the split ones."""
    places = list(itertools.product(*map(range, mesh)))
    whole = None
    for place in places:
        if any(place[d] for d in range(len(mesh)) if d not in mapping and d not in partial):
            continue  # a replica
        piece = parts[place]
        if whole is None:
            whole = np.zeros([n * (mesh[d] if d >= 0 else 1) for n, d in zip(piece.shape, mapping, strict=True)])
        where = tuple(
            slice(place[d] * n, (place[d] + 1) * n) if d >= 0 else slice(None)
            for n, d in zip(piece.shape, mapping, strict=True)
        )
        whole[where] += piece
    return whole


CHOICES = list(itertools.product([-1, 0, 1], repeat=4))


@pytest.mark.parametrize("rows, in_k, out, w_k", CHOICES)
def test_parts_give_the_whole(rows, in_k, out, w_k):
    mesh = (2, 3)
    rng = np.random.default_rng(0)
    x, w, b, g = (
        rng.standard_normal((6, 12)),
        rng.standard_normal((18, 12)),
        rng.standard_normal(18),
        rng.standard_normal((6, 18)),
    )
    s = linear_sharding((rows, in_k), (out, w_k), (out,))
    places = list(itertools.product(*map(range, mesh)))
    local = {p: part(x, s.input, mesh, p) @ part(w, s.weight, mesh, p).T for p in places}
    if not s.bias_after_reduce:
        local = {p: y + part(b, s.bias, mesh, p) for p, y in local.items()}
    whole = gathered(local, s.output, mesh, s.partial)
    np.testing.assert_allclose(whole + b if s.bias_after_reduce else whole, x @ w.T + b, rtol=1e-12)
    grads = linear_grad_sharding(s)
    part_g = {p: part(g, s.output, mesh, p) for p in places}
    found = {
        "input": {p: part_g[p] @ part(w, s.weight, mesh, p) for p in places},
        "weight": {p: part_g[p].T @ part(x, s.input, mesh, p) for p in places},
        "bias": {p: part_g[p].sum(0) for p in places},
    }
    for name, want in (("input", g @ w), ("weight", g.T @ x), ("bias", g.sum(0))):
        mapping, partial = grads[name]
        np.testing.assert_allclose(gathered(found[name], mapping, mesh, partial), want, rtol=1e-11, atol=1e-12)


def test_column_and_row_parallel():
    column = linear_sharding((-1, -1, -1), (0, -1), (0,))
    assert column.output == (-1, -1, 0) and not column.partial and not column.bias_after_reduce
    row = linear_sharding((-1, 0), (-1, 0), (-1,))
    assert row.output == (-1, -1) and row.partial == {0} and row.bias_after_reduce
    assert not linear_sharding((-1, 0), (-1, 0)).bias_after_reduce


def test_conflicts():
    assert linear_sharding((-1, 0), (-1, 1)).weight == (-1, 0)
    assert linear_sharding((0, -1), (0, -1)).weight == (-1, -1)


def test_errors():
    with pytest.raises(ValueError, match="weight must have two dimensions"):
        linear_sharding((0,), (0,))
    with pytest.raises(ValueError, match="bias must have one dimension"):
        linear_sharding((0,), (0, -1), (0, 1))


@pytest.mark.parametrize("wrong", [-2, 2, 7, True, 0.0, None, "0"])
def test_what_is_no_mesh_dimension_is_refused(wrong):
    for mappings in (((wrong, -1), (-1, -1), (0,)), ((-1, -1), (-1, wrong), (0,)), ((-1, -1), (-1, -1), (wrong,))):
        with pytest.raises(ValueError, match="is no mesh dimension .from 0 to 1; -1: not split."):
            linear_sharding(*mappings, mesh_dims=2)
    if wrong not in (2, 7):
        with pytest.raises(ValueError, match="is no mesh dimension"):
            linear_sharding((wrong, -1), (-1, -1))
        with pytest.raises(ValueError, match="LinearSharding: output names"):
            LinearSharding((-1, -1), (-1, -1), None, (wrong, -1))


def test_gradients_of_another_mesh_are_refused():
    sharding = linear_sharding((0, -1), (1, -1), (1,))
    assert linear_grad_sharding(sharding, mesh_dims=2)["weight"] == ((1, -1), {0})
    with pytest.raises(ValueError, match="linear_grad_sharding: weight names 1, which is no mesh dimension"):
        linear_grad_sharding(sharding, mesh_dims=1)
