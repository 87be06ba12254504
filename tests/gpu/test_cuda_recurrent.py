"""Recurrent layers by cuDNN: values and gradients are those of the layers' steps, computed on the CPU in float64."""

import copy
import itertools
import warnings

import pytest

import shim_torch as torch

nn = torch.nn
pytestmark = pytest.mark.skipif(not torch.backends.cudnn.is_available(), reason="cuDNN is not installed")
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}
LAYERS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "tanh": nn.RNN, "relu": lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k)}


@pytest.fixture(autouse=True)
def plain_float32():
    before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False
    torch.manual_seed(0)
    yield
    torch.backends.cudnn.allow_tf32 = before


def made(kind, dtype, proj=0, **settings):
    """A layer of 6 inputs and 8 states, its input, its states, on the CPU in float64 but rounded to dtype."""
    m = LAYERS[kind](6, 8, **settings, **({"proj_size": proj} if proj else {})).double()
    for p in m.parameters():
        p.data.copy_((p.data * 1.5).to(dtype))
    n = m.num_layers * (2 if m.bidirectional else 1)
    x = torch.randn(*((4, 5, 6) if m.batch_first else (5, 4, 6))).to(dtype).double()
    states = [torch.randn(n, 4, proj or 8).to(dtype).double()]
    if kind == "LSTM":
        states.append(torch.randn(n, 4, 8).to(dtype).double())
    return m, x, states


def outcome(m, x, states, device, dtype, packed):
    m = copy.deepcopy(m).to(device, dtype)
    leaves = [t.to(device, dtype).requires_grad_() for t in (x, *states)]
    given = leaves[0]
    if packed:
        given = nn.utils.rnn.pack_padded_sequence(given, [5, 2, 4, 1], batch_first=m.batch_first, enforce_sorted=False)
    y, finals = m(given, tuple(leaves[1:]) if len(states) > 1 else leaves[1])
    y = y.data if packed else y
    outs = [y, *(finals if len(states) > 1 else [finals])]
    torch.manual_seed(1)
    gs = [torch.randn(o.shape).to(dtype).to(device, o.dtype) for o in outs]
    return y, [*outs, *torch.autograd.grad(outs, [*leaves, *m.parameters()], gs)]


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("packed", [False, True])
def test_values_and_gradients(kind, dtype, packed):
    for layers, both, bias, first in itertools.product((1, 2), (False, True), (True, False), (False, True)):
        for proj in (0, 3) if kind == "LSTM" else (0,):
            case = made(kind, dtype, proj, num_layers=layers, bidirectional=both, bias=bias, batch_first=first)
            _, want = outcome(*case, "cpu", torch.float64, packed)
            y, found = outcome(*case, "cuda", dtype, packed)
            assert y.is_cuda and y.dtype == dtype
            # Where rounding changes a sign, the slope of ReLU is another one: of few bits, values alone tell.
            count = 2 if kind == "relu" and dtype.itemsize == 2 else len(want)
            for a, b in zip(found[:count], want[:count], strict=True):
                tolerance = TOLERANCE[dtype] * max(1.0, float(b.abs().max()))
                torch.testing.assert_close(a.detach().cpu().double(), b.detach(), rtol=0, atol=tolerance)


def test_cudnn_computes_it():
    m, x = nn.LSTM(6, 8).cuda(), torch.randn(5, 4, 6, device="cuda")
    assert type(m(x)[0].grad_fn).__name__ == "CudnnRnnBackward0"
    with torch.backends.cudnn.flags(enabled=False):
        assert type(m(x)[0].grad_fn).__name__ != "CudnnRnnBackward0"
    m.eval()(x)[0].sum().backward()  # as of the steps, evaluation has gradients too
    assert m.weight_ih_l0.grad is not None


def test_weights_lie_in_one_buffer():
    m, x = nn.LSTM(6, 8, 2, bidirectional=True).cuda(), torch.randn(5, 4, 6, device="cuda")
    assert len({p.untyped_storage().data_ptr() for p in m.parameters()}) == 1
    m = m.half().float()
    assert len({p.untyped_storage().data_ptr() for p in m.parameters()}) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = m(x)[0]
    m.weight_hh_l1 = nn.Parameter(m.weight_hh_l1.clone())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.equal(m(x)[0], before) and torch.equal(m(x)[0], before)
    assert len(caught) < 2 and all("not part of single contiguous chunk of memory" in str(w.message) for w in caught)
    m.flatten_parameters()
    assert len({p.untyped_storage().data_ptr() for p in m.parameters()}) == 1
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    m(x)[0].square().sum().backward()
    optimizer.step()
    assert not torch.equal(m(x)[0], before)


def test_gradients_again_and_of_gradients():
    m, x = nn.GRU(6, 8).cuda().double(), torch.randn(5, 4, 6, device="cuda", dtype=torch.float64, requires_grad=True)
    y = m(x)[0].square().sum()
    first = torch.autograd.grad(y, [x, m.weight_hh_l0], retain_graph=True)
    for one, other in zip(first, torch.autograd.grad(y, [x, m.weight_hh_l0], create_graph=True), strict=True):
        torch.testing.assert_close(one, other)
    twice = torch.autograd.grad(torch.autograd.grad(m(x)[0].square().sum(), x, create_graph=True)[0].square().sum(), x)[
        0
    ]
    with torch.backends.cudnn.flags(enabled=False):
        by_steps = torch.autograd.grad(
            torch.autograd.grad(m(x)[0].square().sum(), x, create_graph=True)[0].square().sum(), x
        )[0]
    torch.testing.assert_close(twice, by_steps)


def test_dropout_between_layers():
    m = nn.LSTM(6, 64, 2, dropout=0.5).cuda()
    x = torch.ones(50, 32, 6, device="cuda")
    torch.manual_seed(3)
    first, second = m(x)[0], m(x)[0]
    torch.manual_seed(3)
    assert torch.equal(m(x)[0], first) and not torch.equal(first, second)
    first.sum().backward()
    m.eval()
    assert torch.equal(m(x)[0], m(x)[0])
    assert abs(float(m(x)[0].mean() - first.mean())) < 0.05


def test_dropout_of_the_operator():
    m, x, h = nn.LSTM(6, 64, 2).cuda(), torch.ones(50, 32, 6, device="cuda"), torch.zeros(2, 32, 64, device="cuda")
    found = []
    for seed in (1, 1, 2):
        state = torch._cudnn_init_dropout_state(0.5, True, seed, dtype=torch.uint8, device="cuda")
        assert state.dtype == torch.uint8 and state.numel()
        found.append(
            torch._cudnn_rnn(x, list(m.parameters()), 4, None, h, h, 2, 64, 0, 2, False, 0.5, True, False, [], state)[0]
        )
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert torch._cudnn_init_dropout_state(0.5, False, 1, dtype=torch.uint8, device="cuda").numel() == 0


def test_autocast():
    m, x = nn.LSTM(6, 8).cuda(), torch.randn(5, 4, 6, device="cuda")
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cuda", dtype):
            y = m(x)[0]
        assert y.dtype == torch.float16
    y.float().sum().backward()
    assert m.weight_ih_l0.grad.dtype == torch.float32
    torch.testing.assert_close(y.float(), m(x)[0], rtol=1e-2, atol=1e-2)


def test_the_operators():
    m, x, h = nn.LSTM(6, 8).cuda(), torch.randn(5, 4, 6, device="cuda"), torch.zeros(1, 4, 8, device="cuda")
    assert torch._use_cudnn_rnn_flatten_weight()
    y, hy, cy, reserve, buffer = torch._cudnn_rnn(
        x, list(m.parameters()), 4, None, h, h, 2, 8, 0, 1, False, 0.0, True, False, [], None
    )
    want, (h1, c1) = m(x)
    assert torch.equal(y, want) and torch.equal(hy, h1) and torch.equal(cy, c1) and reserve.dtype == torch.uint8
    assert buffer.untyped_storage().data_ptr() == m.weight_ih_l0.untyped_storage().data_ptr()
    with pytest.raises(
        RuntimeError,
        match="^Input and hidden tensors are not the same dtype, found input tensor with Float and hidden tensor with Double$",
    ):
        m(x, (h.double(), h.double()))
