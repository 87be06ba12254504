"""Calls of the wide CPU benchmark whose time is the host's."""

from __future__ import annotations

from typing import Any

from side_by_side import Cases


def question_cases(torch: Any) -> Cases:
    """What a tensor is asked: numbers, sizes, its text."""
    a, b, m = torch.randn(8), torch.randn(8), torch.randn(8, 8)
    cube, one, k, index = torch.randn(4, 8, 8), torch.randn(1), torch.arange(8), torch.tensor([3, 1, 2])
    mask, vec, flag = a > 0, torch.randn(1000), torch.tensor(True)
    return {
        "item": lambda: one.item(),
        "float()": lambda: float(one),
        "bool()": lambda: bool(flag),
        "int()": lambda: int(k[0]),
        "tolist 8": lambda: a.tolist(),
        "len": lambda: len(m),
        "shape": lambda: m.shape,
        "size(0)": lambda: m.size(0),
        "dtype == float32": lambda: m.dtype == torch.float32,
        "device": lambda: m.device,
        "device.type": lambda: m.device.type,
        "numel": lambda: m.numel(),
        "stride": lambda: m.stride(),
        "is_contiguous": lambda: m.is_contiguous(),
        "data_ptr": lambda: m.data_ptr(),
        "requires_grad": lambda: m.requires_grad,
        "dim": lambda: m.dim(),
        "is_floating_point": lambda: m.is_floating_point(),
        "iterate 8x8": lambda: list(m),
        "x[0]": lambda: m[0],
        "x[1, 2]": lambda: m[1, 2],
        "x[..., 1]": lambda: cube[..., 1],
        "x[:, 1:3]": lambda: m[:, 1:3],
        "x[::2]": lambda: m[::2],
        "x[index]": lambda: m[index],
        "x[index, index]": lambda: m[index, index],
        "x[:, index]": lambda: m[:, index],
        "x[[1, 2]]": lambda: m[[1, 2]],
        "x[mask]": lambda: a[mask],
        "x[0] = number": lambda: m.__setitem__(0, 1.0),
        "x[1, 2] = number": lambda: m.__setitem__((1, 2), 1.0),
        "x[:, 1] = row": lambda: m.__setitem__((slice(None), 1), a),
        "x[index] = number": lambda: m.__setitem__(index, 1.0),
        "x[mask] = number": lambda: b.__setitem__(mask, 1.0),
        "repr 8": lambda: repr(a),
        "repr 8x8": lambda: repr(m),
        "str 1000": lambda: str(vec),
        "repr int": lambda: repr(k),
    }


def making_cases(torch: Any) -> Cases:
    """Tensors made, converted and viewed."""
    a, m = torch.randn(8), torch.randn(8, 8)
    cube, one = torch.randn(4, 8, 8), torch.randn(1)
    half = m.to(torch.bfloat16)
    listed = [[1.0, 2.0], [3.0, 4.0]]
    return {
        "tensor(1.0)": lambda: torch.tensor(1.0),
        "tensor nested list": lambda: torch.tensor(listed),
        "as_tensor list": lambda: torch.as_tensor([1, 2, 3]),
        "from_numpy": lambda array=a.numpy(): torch.from_numpy(array),
        "numpy()": lambda: a.numpy(),
        "zeros 2x3": lambda: torch.zeros(2, 3),
        "ones_like": lambda: torch.ones_like(m),
        "zeros_like": lambda: torch.zeros_like(m),
        "full_like": lambda: torch.full_like(m, 2.0),
        "new_zeros": lambda: m.new_zeros(3),
        "arange 8": lambda: torch.arange(8),
        "linspace 8": lambda: torch.linspace(0, 1, 8),
        "eye 8": lambda: torch.eye(8),
        "to same": lambda: m.to(torch.float32),
        "to cpu": lambda: m.to("cpu"),
        "to bfloat16": lambda: m.to(torch.bfloat16),
        "half float()": lambda: half.float(),
        "cpu()": lambda: m.cpu(),
        "reshape": lambda: m.reshape(64),
        "flatten": lambda: cube.flatten(1),
        "view -1": lambda: cube.view(-1),
        "squeeze": lambda: one.squeeze(),
        "unsqueeze": lambda: m.unsqueeze(1),
        "T": lambda: m.T,
        "mT": lambda: cube.mT,
        "permute": lambda: cube.permute(2, 0, 1),
        "expand": lambda: one.expand(8, 8),
        "split": lambda: m.split(2),
        "chunk": lambda: m.chunk(2, 1),
        "unbind": lambda: m.unbind(),
    }


def pointwise_host_cases(torch: Any) -> Cases:
    """Calls number by number."""
    a, b, m = torch.randn(8), torch.randn(8), torch.randn(8, 8)
    k = torch.arange(8)
    mask = a > 0
    half = m.to(torch.bfloat16)
    return {
        "add": lambda: a + b,
        "add number": lambda: a + 1,
        "number - x": lambda: 1 - a,
        "x / number": lambda: a / 2,
        "x // 2": lambda: k // 2,
        "x % 2": lambda: k % 2,
        "x ** 2": lambda: a**2,
        "-x": lambda: -a,
        "x > 0": lambda: a > 0,
        "x == x": lambda: a == b,
        "x & x": lambda: mask & mask,
        "~x": lambda: ~mask,
        "int + float": lambda: k + a,
        "bfloat16 add": lambda: half + half,
        "bfloat16 mul number": lambda: half * 2.0,
        "bfloat16 sum": lambda: half.sum(),
        "x += 1": lambda: a.add_(0),
        "mul_": lambda: a.mul_(1.0),
        "copy_": lambda: a.copy_(b),
        "fill_": lambda: b.fill_(1.0),
        "zero_": lambda: b.zero_(),
        "clamp": lambda: a.clamp(0, 1),
        "clamp min": lambda: a.clamp(min=0),
        "where": lambda: torch.where(mask, a, b),
        "masked_fill": lambda: a.masked_fill(mask, 0.0),
        "maximum": lambda: torch.maximum(a, b),
        "sigmoid": lambda: a.sigmoid(),
        "tanh": lambda: a.tanh(),
    }


def function_cases(torch: Any) -> Cases:
    """Functions of layers, and reductions."""
    a, b, m = torch.randn(8), torch.randn(8), torch.randn(8, 8)
    cube, k, index = torch.randn(4, 8, 8), torch.arange(8), torch.tensor([3, 1, 2])
    f = torch.nn.functional
    return {
        "relu": lambda: f.relu(a),
        "gelu": lambda: f.gelu(a),
        "silu": lambda: f.silu(a),
        "dropout": lambda: f.dropout(a),
        "softmax": lambda: f.softmax(m, dim=-1),
        "layer_norm": lambda: f.layer_norm(m, (8,)),
        "rms_norm": lambda: f.rms_norm(m, (8,)),
        "cross_entropy": lambda: f.cross_entropy(m, k),
        "mse_loss": lambda: f.mse_loss(a, b),
        "linear": lambda: f.linear(m, m, a),
        "matmul": lambda: m @ m,
        "bmm": lambda: torch.bmm(cube, cube),
        "einsum": lambda: torch.einsum("ij,jk->ik", m, m),
        "sdpa": lambda: f.scaled_dot_product_attention(cube, cube, cube),
        "conv2d 1x4x8x8": lambda: f.conv2d(cube[None], cube[None, :, :3, :3]),
        "max_pool2d 1x4x8x8": lambda: f.max_pool2d(cube[None], 2),
        "avg_pool2d 1x4x8x8": lambda: f.avg_pool2d(cube[None], 2),
        "interpolate 1x4x8x8": lambda: f.interpolate(cube[None], scale_factor=2),
        "pad": lambda: f.pad(m, (1, 1)),
        "one_hot": lambda: f.one_hot(k, 8),
        "embedding": lambda: f.embedding(index, m),
        "normalize": lambda: f.normalize(m),
        "sum": lambda: m.sum(),
        "sum(1)": lambda: m.sum(1),
        "mean(-1)": lambda: m.mean(-1),
        "max(1)": lambda: m.max(1),
        "argmax": lambda: m.argmax(-1),
        "norm": lambda: a.norm(),
        "std": lambda: a.std(),
        "cumsum": lambda: m.cumsum(1),
    }


def selecting_cases(torch: Any) -> Cases:
    """Sorting, selecting and joining, draws, and what is no operator."""
    a, b, m = torch.randn(8), torch.randn(8), torch.randn(8, 8)
    k, index = torch.arange(8), torch.tensor([3, 1, 2])
    mask = a > 0
    return {
        "sort": lambda: a.sort(),
        "argsort": lambda: a.argsort(),
        "topk": lambda: a.topk(2),
        "unique": lambda: torch.unique(k),
        "nonzero": lambda: mask.nonzero(),
        "any": lambda: mask.any(),
        "all": lambda: mask.all(),
        "isnan any": lambda: a.isnan().any(),
        "allclose": lambda: torch.allclose(a, a),
        "equal": lambda: torch.equal(a, a),
        "cat": lambda: torch.cat((m, m)),
        "stack": lambda: torch.stack((a, b)),
        "gather": lambda: m.gather(1, index[None]),
        "scatter_": lambda: m.scatter_(1, index[None], 1.0),
        "scatter_add_": lambda: a.scatter_add_(0, index, b[:3]),
        "index_select": lambda: m.index_select(0, index),
        "index_add_": lambda: a.index_add_(0, index, b[:3]),
        "repeat": lambda: a.repeat(2),
        "repeat_interleave": lambda: a.repeat_interleave(2),
        "flip": lambda: a.flip(0),
        "roll": lambda: a.roll(1),
        "tril": lambda: m.tril(),
        "diag": lambda: m.diag(),
        "triu ones": lambda: torch.triu(torch.ones(8, 8), 1),
        "meshgrid": lambda: torch.meshgrid(a, b, indexing="ij"),
        "outer": lambda: torch.outer(a, b),
        "clone": lambda: a.clone(),
        "detach": lambda: a.detach(),
        "contiguous": lambda: a.contiguous(),
        "randn 8": lambda: torch.randn(8),
        "randint 8": lambda: torch.randint(0, 10, (8,)),
        "randperm 8": lambda: torch.randperm(8),
        "multinomial 8": lambda: torch.multinomial(a.abs() + 1, 2),
        "bernoulli 8": lambda: torch.bernoulli(mask.float()),
        "manual_seed": lambda: torch.manual_seed(0),
        "no_grad": lambda: _with(torch.no_grad()),
        "is_tensor": lambda: torch.is_tensor(a),
        "isinstance": lambda: isinstance(a, torch.Tensor),
        "finfo": lambda: torch.finfo(torch.float32).eps,
        "broadcast_tensors": lambda: torch.broadcast_tensors(a, m),
        "deepcopy": lambda copy=__import__("copy").deepcopy: copy(a),
        "linalg.norm": lambda: torch.linalg.norm(a),
        "fft 8": lambda: torch.fft.fft(a),
        "complex abs": lambda c=torch.complex(a, b): c.abs(),
    }


def host_cases(torch: Any) -> Cases:
    """Small calls whose time is the host's."""
    return {
        **question_cases(torch),
        **making_cases(torch),
        **pointwise_host_cases(torch),
        **function_cases(torch),
        **selecting_cases(torch),
    }


def _with(manager: Any) -> None:
    with manager:
        pass
