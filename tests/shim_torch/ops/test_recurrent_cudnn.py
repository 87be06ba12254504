"""What recurrent layers ask before they run, and cuDNN's operators where there is no GPU."""

import pytest

import shim_torch as torch


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_devices_are_checked_in_pytorchs_words(layer):
    m, x = layer(4, 5), torch.randn(3, 2, 4)
    with pytest.raises(
        RuntimeError,
        match="^Input and parameter tensors are not at the same device, found input tensor at meta and parameter tensor at cpu$",
    ):
        m(x.to("meta"))
    state = torch.zeros(1, 2, 5, device="meta")
    hx = (state, state) if layer is torch.nn.LSTM else state
    with pytest.raises(
        RuntimeError,
        match="^Input and hidden tensors are not at the same device, found input tensor at cpu and hidden tensor at meta$",
    ):
        m(x, hx)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2])
    with pytest.raises(RuntimeError, match="^Input and hidden tensors are not at the same device"):
        m(packed, hx)


def test_cudnns_operators_need_cuda():
    m = torch.nn.LSTM(4, 5)
    weights, state = list(m.parameters()), torch.zeros(1, 2, 5)
    with pytest.raises(
        NotImplementedError, match="^Could not run 'aten::_cudnn_rnn' with arguments from the 'CPU' backend"
    ):
        torch._cudnn_rnn(
            torch.randn(3, 2, 4), weights, 4, None, state, state, 2, 5, 0, 1, False, 0.0, True, False, [], None
        )
    with pytest.raises(
        NotImplementedError,
        match="^Could not run 'aten::_cudnn_rnn_flatten_weight' with arguments from the 'CPU' backend",
    ):
        torch._cudnn_rnn_flatten_weight(weights, 4, 4, 2, 5, 0, 1, False, False)
    with pytest.raises(
        NotImplementedError,
        match="^Could not run 'aten::_cudnn_init_dropout_state' with arguments from the 'CPU' backend",
    ):
        torch._cudnn_init_dropout_state(0.5, True, 1, dtype=torch.uint8)
    before = [w.data_ptr() for w in weights]
    m.flatten_parameters()
    assert [w.data_ptr() for w in m.parameters()] == before


def test_mem_efficient_dropout_numbers():
    with pytest.raises(NotImplementedError, match="^Could not run 'aten::_fill_mem_eff_dropout_mask_'"):
        torch._fill_mem_eff_dropout_mask_(torch.empty(1, 1, 2, 2), 0.1, 3, 0)
    whole = torch.ops.shim.philox_uniform(torch.empty(64), 3, 0)
    assert bool(((whole > 0) & (whole <= 1)).all()) and whole.unique().numel() == 64
    for offset in (1, 4, 7):
        assert torch.equal(
            torch.ops.shim.philox_uniform(torch.empty(5, 10), 3, offset).reshape(-1), whole[offset : offset + 50]
        )


def test_half_precision_transforms_are_cudas():
    x = torch.randn(3, 8).half()
    assert torch.fft.rfft(x.to("meta")).dtype == torch.complex32
    with pytest.raises(RuntimeError, match="^Unsupported dtype Half$"):
        torch.fft.fft(x)
    with pytest.raises(RuntimeError, match="^MKL FFT doesn't support tensors of type: Half$"):
        torch.fft.ifft(torch.zeros(4, dtype=torch.complex32))
