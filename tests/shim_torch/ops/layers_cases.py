"""Recurrent, attention and transformer layers with given weights."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    nn = torch.nn

    def set_weights(layer):
        layer.eval()
        with torch.no_grad():
            for i, p in enumerate(layer.parameters()):
                p.copy_(pattern(torch, *p.shape, seed=i) * 0.3)
        return layer

    def packed(x, lengths, **more):
        return torch.nn.utils.rnn.pack_padded_sequence(x, lengths, **more)

    names = {
        "x": (4, 3, 5),
        "h": (2, 3, 6),
        "q": (3, 2, 8),
        "k": (5, 2, 8),
        "v": (5, 2, 8),
        "k6": (5, 2, 6),
        "r": (3, 5),
        "hr": (3, 6),
    }
    made = {n: pattern(torch, *s, seed=i + 1).requires_grad_() for i, (n, s) in enumerate(names.items())}
    pad = torch.tensor([[False, False, False, False, True], [False, False, True, False, True]])
    mask = torch.tensor([[0.0, 0.5, -1.0, 0.0, 1.0]]).repeat(3, 1)
    return {**made, "torch": torch, "nn": nn, "F": nn.functional, "set": set_weights, "packed": packed, "pad": pad,
            "mask": mask, "causal": nn.Transformer.generate_square_subsequent_mask, "rnn": nn.utils.rnn}  # fmt: skip


CASES = """
set(nn.LSTM(5, 6))(x)
set(nn.LSTM(5, 6, 2, bidirectional=True))(x)
set(nn.LSTM(5, 6, 2, batch_first=True, bias=False))(x, (h.repeat(1, 2, 1)[:, :4], h.repeat(1, 2, 1)[:, 2:]))
set(nn.LSTM(5, 6, proj_size=3, bidirectional=True))(x)
set(nn.LSTM(5, 6))(x[:, 0])
set(nn.GRU(5, 6, 2))(x, h)
set(nn.GRU(5, 6, bidirectional=True, batch_first=True))(x)
set(nn.RNN(5, 6, 2))(x, h)
set(nn.RNN(5, 6, nonlinearity='relu', bidirectional=True))(x)
set(nn.LSTM(5, 6, 1, bidirectional=True))(packed(x, [4, 2, 1]))
set(nn.GRU(5, 6, 2, bidirectional=True))(packed(x, [2, 4, 3], enforce_sorted=False))
set(nn.RNN(5, 6, 2))(packed(x, [3, 3, 1]), h)
rnn.pad_packed_sequence(set(nn.GRU(5, 6))(packed(x, [2, 4, 3], enforce_sorted=False))[0])
rnn.pad_packed_sequence(packed(x, [4, 2, 1]), batch_first=True, padding_value=-1.0, total_length=5)
rnn.pack_sequence([r[0:3], r[1:3], r[2:3]])
rnn.unpack_sequence(rnn.pack_sequence([r[1:3], r[0:3], r[2:3]], enforce_sorted=False))
set(nn.LSTMCell(5, 6))(r, (hr, hr * 2))
set(nn.LSTMCell(5, 6))(r[0])
set(nn.GRUCell(5, 6))(r, hr)
set(nn.GRUCell(5, 6, bias=False))(r)
set(nn.RNNCell(5, 6))(r, hr)
set(nn.RNNCell(5, 6, nonlinearity='relu'))(r)
[n for n, _ in nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2).named_parameters()]
repr(nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.1))
repr(nn.RNNCell(3, 4, nonlinearity='relu'))
repr(nn.GRU(3, 4, bias=False, batch_first=True))
set(nn.MultiheadAttention(8, 2))(q, k, v)
set(nn.MultiheadAttention(8, 2))(q, k, v, need_weights=False)
set(nn.MultiheadAttention(8, 2))(q, k, v, key_padding_mask=pad)
set(nn.MultiheadAttention(8, 2))(q, k, v, key_padding_mask=pad, need_weights=False)
set(nn.MultiheadAttention(8, 2))(q, k, v, attn_mask=mask, average_attn_weights=False)
set(nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True))(q, k, v, attn_mask=mask)
set(nn.MultiheadAttention(8, 2, kdim=6, vdim=6, bias=False))(q, k6, k6)
set(nn.MultiheadAttention(8, 2, batch_first=True))(q, k[:3], v[:3])
set(nn.MultiheadAttention(8, 4))(q[:, 0], k[:, 0], v[:, 0])
set(nn.MultiheadAttention(8, 2))(k, k, k, attn_mask=causal(5), is_causal=True, need_weights=False)
set(nn.TransformerEncoderLayer(8, 2, 16))(q)
set(nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation='gelu', batch_first=True))(q, causal(2))
set(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8), enable_nested_tensor=False))(k, causal(5), pad)
set(nn.TransformerDecoderLayer(8, 2, 16))(q, k)
set(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, norm_first=True), 2))(q, k, causal(3))
set(nn.Transformer(8, 2, 1, 1, 16))(k, q, tgt_mask=causal(3))
list(nn.MultiheadAttention(8, 2, kdim=3, vdim=4, add_bias_kv=True).state_dict())
list(nn.TransformerDecoderLayer(8, 2, 16).state_dict())
F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), is_causal=True)
F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), attn_mask=mask > 0, scale=0.3)
F.scaled_dot_product_attention(q.reshape(1, 3, 2, 8).repeat(1, 2, 1, 1), k[:3].reshape(1, 3, 2, 8), v[:3].reshape(1, 3, 2, 8), enable_gqa=True)
nn.LSTM(5, 6)(x[..., :2])
nn.LSTM(5, 6)(x.unsqueeze(0))
nn.LSTM(5, 6)(x, (h[:1, :, :5], h[:1]))
nn.LSTM(5, 6)(x[0], (h, h))
nn.GRU(5, 6)(x, h)
nn.GRU(5, 6)(x.double())
nn.LSTM(5, 0)
nn.RNN(5, 6, nonlinearity='foo')
nn.LSTM(5, 6, dropout=2)
nn.GRU(5, 6, proj_size=2)
nn.LSTM(5, 6, proj_size=6)
nn.LSTM(5, 6, 0)
nn.LSTM(5.0, 6)
nn.LSTMCell(5, 6)(r[:, :2])
nn.LSTMCell(5, 6)(x.unsqueeze(0))
nn.MultiheadAttention(8, 3)
nn.MultiheadAttention(8, 2)(q[0], k, v)
nn.MultiheadAttention(8, 2)(q[..., :7], k, v)
nn.MultiheadAttention(8, 2)(q, k, v[:4])
nn.MultiheadAttention(8, 2)(q, k, v, attn_mask=causal(3))
nn.MultiheadAttention(8, 2)(q, k, v, is_causal=True)
packed(x, [1, 2, 3])
packed(x, [3, 2])
packed(x, [3, 2, 0])
""".strip().splitlines()
CASES += """
set(nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0))(q[:, 0], torch.tensor([1, 4, 9]))
set(nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)).log_prob(q[:, 0])
set(nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)).predict(q[:, 0])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [6, 3])
nn.LPPool1d(2, 3)(x)
nn.MaxUnpool2d(2)(*nn.MaxPool2d(2, return_indices=True)(x.unsqueeze(0)[..., :4, :4]))
nn.UpsamplingBilinear2d(scale_factor=2)(x.unsqueeze(0))
nn.UpsamplingNearest2d(size=(2, 3))(x.unsqueeze(0))
nn.ChannelShuffle(2)(h.reshape(1, 2, 3, 6))
nn.CTCLoss()(x.log_softmax(2), torch.tensor([[1], [2], [3]]), (4, 4, 4), (1, 1, 1))
nn.MultiLabelMarginLoss()(r, torch.tensor([[1, 0, -1, 0, 0]] * 3))
nn.TripletMarginWithDistanceLoss()(r, r * 2, r.flip(0))
nn.FractionalMaxPool2d(2, output_ratio=2.0)
repr(nn.EmbeddingBag(4, 3, padding_idx=1))
nn.grad.conv1d_weight(x, (2, 3, 2), torch.ones(4, 2, 4))
nn.grad.conv2d_input((1, 3, 5, 5), torch.ones(2, 3, 2, 2), h.reshape(1, 2, 3, 6)[..., :4], 1, (0, 0), (2, 1))
""".strip().splitlines()
CASES += (
    [
        f"repr(nn.{layer})"
        for layer in """
MaxPool2d(2, padding=1, return_indices=True)
AvgPool1d(2)
AvgPool2d(2)
AdaptiveMaxPool1d(2, return_indices=True)
AdaptiveAvgPool2d((1, 2))
BatchNorm2d(3)
BatchNorm1d(3, bias=False)
InstanceNorm1d(3)
LayerNorm(3, bias=False)
GroupNorm(1, 3, affine=False)
Upsample(scale_factor=2)
UpsamplingNearest2d(scale_factor=2)
Transformer(8, 2, 1, 1, 16)
Conv2d(3, 4, 3, padding=1)
""".strip().splitlines()
    ]
    + """
nn.LSTM(4, 4)(x[:0, :, :4])
F.grid_sample(x.detach().unsqueeze(0), torch.full((1, 2, 2, 2), float('nan')), align_corners=False)
F.scaled_dot_product_attention(q[0, 0], k[0], v[0])
F.scaled_dot_product_attention(q, k.double(), v)
""".strip().splitlines()
)
