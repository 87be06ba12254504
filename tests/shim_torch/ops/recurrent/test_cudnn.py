"""cuDNN's operators where there is no GPU."""

import pytest

import shim_torch as torch


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
