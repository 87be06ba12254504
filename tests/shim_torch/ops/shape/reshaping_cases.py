"""Flattened and unflattened forms, tensors of at least so many dims, transposes as properties."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x, z = pattern(torch, 2, 3, 4, seed=1).requires_grad_(), torch.tensor([[1 + 2j, 3.0], [4j, 5.0]])
    return {
        "torch": torch,
        "x": x,
        "z": z,
        "v": torch.arange(3.0),
        "s": torch.tensor(2.5),
        "t": x.detach().permute(2, 0, 1),
        "strides": lambda r: (r.stride(), r.shape),
    }


CASES = """
x.unflatten(1, (3, 1))
x.unflatten(-1, (2, -1))
x.unflatten(2, (2, 3))
x.unflatten(2, ())
x.unflatten(2, (-1, -1))
x.unflatten(2, (3, -1))
x.unflatten(2, (-2, -2))
x.unflatten(3, (1, 1))
x.flatten()
x.flatten(1)
x.flatten(0, 1)
x.flatten(1, 1)
x.flatten(2, 1)
x.flatten(3)
s.flatten()
strides(t.flatten(0, 1))
strides(t.flatten(1, 2))
x[:0].flatten()
torch.ravel(x)
strides(torch.ravel(t))
torch.ravel(s)
torch.atleast_1d(s)
torch.atleast_2d(v)
torch.atleast_3d(v)
torch.atleast_3d(x[0])
torch.atleast_2d(s, v)
torch.atleast_3d((s, v, x))
torch.broadcast_tensors(v, s, x[0, :, :1])
torch.broadcast_tensors(v, torch.ones(2))
strides(torch.broadcast_tensors(v, torch.ones(2, 1))[0])
z.adjoint()
torch.adjoint(x)
z.mH
x.mT
z.H
z.T
x[0].T
v.adjoint()
v.mT
v.mH
v.H
x.H
s.mT
s.H
s.T
""".strip().splitlines()
