"""Layers: first values, what ``repr`` shows, results, errors, and what lazy ones become."""

import copy


def _lazy(torch):
    nn = torch.nn

    def settled(make, x):
        """A lazy layer after its first input."""
        layer = make()
        layer(x)
        hooks = [len(layer._forward_pre_hooks), len(layer._load_state_dict_pre_hooks)]
        return str(layer), type(layer).__name__, layer.weight, layer.bias, hooks

    def loaded(make, x, *, given="settled", into="lazy", **how):
        """A lazy layer that loads what another saved, and is called then."""
        layers = {"settled": make(), "lazy": make()}
        layers["settled"](x)
        target = make() if into == "lazy" else copy.deepcopy(layers["settled"])
        target.load_state_dict(layers[given].state_dict(), **how)
        waiting = into == "lazy" and target.has_uninitialized_params()
        after = None if waiting else (target.weight, str(target), target(x).shape, str(target))
        return waiting, type(target).__name__, after

    class Mixed(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.UninitializedParameter()
            self.register_buffer("b", nn.UninitializedBuffer())
            self.register_buffer("passing", nn.UninitializedBuffer(), persistent=False)

    def partly(state):
        layer = Mixed()
        return layer.load_state_dict(state, strict=False), layer.w.shape, layer.has_uninitialized_params()

    return locals()


def names(torch):
    """What the expressions use."""
    nn, F = torch.nn, torch.nn.functional
    x3, x4 = torch.arange(24.0).reshape(2, 3, 4) / 7, torch.arange(72.0).reshape(2, 3, 3, 4) / 11
    c4, u4 = torch.arange(2 * 4 * 25.0).reshape(2, 4, 5, 5) / 9, torch.arange(4 * 25.0).reshape(4, 5, 5) / 9
    C1, C2, T1, T2 = nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.ConvTranspose2d
    E, EB, A = nn.Embedding, nn.EmbeddingBag, nn.AdaptiveLogSoftmaxWithLoss
    O, Loss = nn.LinearCrossEntropyOptions, nn.LinearCrossEntropyLoss
    Q, rows = torch.arange(24.0).reshape(3, 2, 4) / 24, torch.arange(8.0).reshape(2, 4) / 8
    targets = torch.tensor([0, 2])
    causal = torch.full((3, 3), float("-inf")).triu(1)
    pad = torch.tensor([[False, False, True], [False, False, False]])
    merge, zeros = nn.MultiheadAttention(4, 2).merge_masks, torch.zeros(2, 3, 4)

    def attended(*args, **settings):
        made = ("batch_first", "kdim", "vdim", "bias", "add_bias_kv", "add_zero_attn")
        call = {k: settings.pop(k) for k in list(settings) if k not in made}
        return nn.MultiheadAttention(4, 2, **settings)(*args, **call)

    def encoder(call=lambda e: e(Q), *, layers=2, norm=None, nested=False, **settings):
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, **settings)
        return call(nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=nested))

    def decoder(call=lambda d: d(Q, Q * 2), *, norm=None, **settings):
        return call(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, **settings), 2, norm))

    def transformer(*args, call=None, **settings):
        return nn.Transformer(4, 2, 1, 1, 8, 0.0, **settings)(*args, **(call or {}))

    class Custom(nn.Module):
        def forward(self, x, *args, **kwargs):
            return x + 1

    return {**locals(), **_lazy(torch)}


CASES = """
nn.Linear(3, 2).weight
nn.Linear(3, 2).bias
nn.Linear(0, 2).bias
list(nn.Linear(3, 2, False)._parameters)
nn.Linear(3, 2, device="meta", dtype=torch.float64).bias
nn.Linear(-1, 2)
list(nn.Bilinear(2, 3, 1).parameters())
nn.Bilinear(2, 3, 1, bias=False)
C2(4, 2, 3).weight
C2(4, 2, 3).bias
C2(4, 2, 3)(c4)
C2(4, 2, 3, stride=2, padding=1, dilation=2, groups=2, bias=False)
C2(4, 2, 3, stride=2, padding=1, dilation=2, groups=2, bias=False, padding_mode="circular")(c4)
C2(4, 2, 2, padding="same", padding_mode="reflect")(c4)
C2(4, 2, 3, padding="valid", padding_mode="circular")(c4)
C2(4, 2, 3, padding="same", padding_mode="replicate")
C2(4, 2, 3)._conv_forward(c4, C2(4, 3, 1).weight, None)
C2(4, 2, 3, 2, padding="same")
[C2(4, 2, 2, padding=p, dilation=3)._reversed_padding_repeated_twice for p in ("same", "valid", 3, (1, 2))]
C2(4, 2, 3, groups=3)
C2(4, 3, 3, groups=2)
C2(4, 2, 3, groups=0)
C2(0, 2, 3)
T2(4, 2, 3).weight
T2(4, 2, 3).bias
T2(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, dilation=2)
T2(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, dilation=2)(c4)
T2(4, 2, 3, 2)(c4, output_size=[12, 11])
T2(4, 2, 3, 2)(c4, torch.Size([2, 2, 12, 12])).shape
T2(4, 2, 3, 2)(u4, [2, 12, 12]).shape
T2(4, 2, 3, 2)(c4, [15, 12])
T2(4, 2, 3, 2)(c4, [12, 10])
T2(4, 2, 3, 2)(c4, [])
T2(4, 2, 3, 2)(c4, [2, 12, 12])
T2(4, 2, 3, 2)._output_padding(c4, [12, 11], (2, 2), (0, 0), (3, 3), 2)
T1(4, 2, 3, output_padding=0)._output_padding(c4, None, [1], [0], [3], 1)
T2(4, 2, 3, padding_mode="circular")
nn.RNN(3, 4)
nn.RNN(3, 4, 2, "relu", False, True, 0.5, True)
[nn.RNN(3, 4, 1, "relu").mode, nn.RNN(3, 4, nonlinearity="relu").nonlinearity]
nn.RNN(3, 4, 1, True)
nn.RNN(3, 4, nonlinearity="x")
nn.RNN(3, 4, 1, "relu", nonlinearity="tanh")
nn.RNN(3, 4, proj_size=0)
nn.GRU(3, 4, proj_size=2)
nn.RNN()
nn.RNN(3)
nn.RNN(3, 4, foo=1)
nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True)
nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True).get_expected_hidden_size(torch.zeros(5, 6, 3), None)
nn.LSTM(3, 4, 2, proj_size=2).get_expected_cell_size(torch.zeros(5, 6, 3), None)
nn.GRU(3, 4, batch_first=True).get_expected_hidden_size(torch.zeros(5, 6, 3), None)
nn.GRU(3, 4).get_expected_hidden_size(torch.zeros(5, 3), torch.tensor([4, 2]))
nn.GRU(3, 4)(torch.zeros(2, 3, 3), torch.zeros(1, 2, 4))
nn.LSTM(3, 2).weight_hh_l0
[nn.RNNCell(3, 4), nn.RNNCell(3, 4, False, "relu"), nn.LSTMCell(3, 4, bias=False)]
nn.GRUCell(1, 1).bias_hh
E(3, 2, 1).weight
[E(3, 2), E(3, 2, 1, 2.0, 1.0, True, True), E(3, 2, padding_idx=0, norm_type=2), E(3, 2, -1)]
E(3, 2, 3)
E(3, 2, -4)
E(3, 2, 2, _weight=torch.ones(3, 2), _freeze=True).weight
E(3, 2, _weight=torch.ones(2, 2))
E(3, 2, dtype=torch.float64, device="meta", _freeze=True).weight
[EB(3, 2), EB(3, 2, 1.0, 1.0, True, "sum", True, padding_idx=0), EB(3, 2, padding_idx=-1)]
EB(3, 2, padding_idx=1).weight
EB(3, 2, padding_idx=5)
EB(3, 2, _weight=torch.ones(2, 2))
EB.from_pretrained(torch.ones(2, 3)).weight
A(4, 10, [2, 5], 2.0, True)
[A(4, 10, (9,)).head_size, A(4, 10, iter([2, 5])).cutoffs]
A(4, 10, [2.0])
list(A(4, 10, [2, 5]).state_dict())
A(4, 10, [])
A(4, 10, [5, 2])
A(4, 10, [2, 2])
A(4, 10, [0, 2])
A(4, 10, [2, 10])
A(4, 10, [2.5])
A(4, 10, [-1, 3])
A(4, 10, ["a"])
A(4, 10, [2, 5])(torch.ones(3, 4), torch.tensor([0, 4, 9]))
A(4, 10, [2, 5]).log_prob(torch.ones(1, 4))
[O(), O(chunking_method="aspect_ratio"), O(chunking_method="aspect_ratio:3")]
O(batch_chunk_size=3, chunking_method=None)
O(acc_policy="compact", chunking_method="y", batch_chunk_size=-1)
O(acc_policy=None)
[O(acc_dtype=d) for d in (None, torch.float32)]
O(chunking_method="aspect_ratio:0")
O(chunking_method="aspect_ratio:")
O(chunking_method="aspect_ratio:1.5")
O(chunking_method="aspect_ratio:x")
O(batch_chunk_size=0)
O(batch_chunk_size=2.5, acc_dtype=torch.int8)
O(acc_dtype=torch.int32)
Loss(4, 3)(rows, targets)
Loss(4, 3, bias=True, reduction="sum", label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 3.0]))(rows, targets)
Loss(4, 3, out_features=(2,), bias=True)(rows, torch.tensor([[0, 1], [2, 0]]))
Loss(4, 3, ignore_index=2)(rows, targets)
settled(lambda: nn.LazyLinear(2), x3)
settled(lambda: nn.LazyConv2d(2, 1, groups=1, bias=False), x4)
settled(lambda: nn.LazyConvTranspose2d(2, 1), x4[0])
settled(lambda: nn.LazyConv2d(2, 1, groups=2), x4)
settled(lambda: nn.LazyConv2d(2, 1), x3[0])
settled(lambda: nn.LazyBatchNorm1d(), x3)
settled(lambda: nn.LazyInstanceNorm2d(), x4)
[nn.LazyLinear(2), nn.LazyLinear(2, bias=False), nn.LazyInstanceNorm1d(), nn.LazyBatchNorm2d(affine=False)]
loaded(lambda: nn.LazyLinear(2), x3)
loaded(lambda: nn.LazyLinear(2), x3, given="lazy")
loaded(lambda: nn.LazyLinear(2), x3, given="lazy", into="settled")
loaded(lambda: nn.LazyConv2d(2, 1), x4)
loaded(lambda: nn.LazyLinear(2), x3, assign=True)
list(Mixed().state_dict())
partly({"w": torch.ones(2), "b": torch.ones(3)})
partly({"w": torch.ones(2)})
Mixed()(x3)
nn.LazyLinear(2)._replicate_for_data_parallel()
attended(Q, Q, Q)
attended(Q, Q, Q, batch_first=True, key_padding_mask=torch.zeros(3, 2), average_attn_weights=False)
attended(Q[:, 0], Q[:, 0], Q[:, 0], batch_first=True, need_weights=False)
attended(Q, Q[..., :3], Q[..., :2], kdim=3, vdim=2, attn_mask=causal)
attended(Q, Q, Q, add_bias_kv=True, add_zero_attn=True, bias=False, key_padding_mask=pad)
attended(Q, Q, Q, is_causal=True)
merge(None, None, zeros)
merge(None, torch.ones(2, 3), zeros)
merge(torch.arange(9.0).reshape(3, 3), None, zeros)[0].sum((2, 3))
merge(torch.arange(9.0).reshape(3, 3), torch.ones(2, 3), zeros)
merge(torch.arange(36.0).reshape(4, 3, 3), torch.ones(2, 3) * 10, zeros)[0].sum(2)
merge(torch.ones(2, 2), None, zeros)
[encoder(norm_first=f) for f in (False, True)]
encoder(lambda e: e.layers[0](Q, causal.bool(), pad), layers=1)
encoder(lambda e: e(Q, causal))
encoder(lambda e: e(Q, is_causal=True))
encoder(lambda e: e(Q, src_key_padding_mask=pad), norm=nn.LayerNorm(4))
encoder(lambda e: e(Q[0]), batch_first=True)
encoder(lambda e: e.num_layers, nested=True)
encoder(lambda e: e.num_layers, nested=True, batch_first=True, bias=False)
encoder(layers=0)
[decoder(norm_first=f) for f in (False, True)]
decoder(lambda d: d(Q, Q, causal, memory_mask=causal, memory_is_causal=True), norm=nn.LayerNorm(4))
decoder(lambda d: d(Q, Q, tgt_key_padding_mask=pad, memory_key_padding_mask=pad))
decoder(lambda d: d(Q, Q, tgt_is_causal=True))
decoder(lambda d: list(d.layers[0].state_dict()))
nn.TransformerDecoderLayer(4, 2, 8, layer_norm_eps=0.1, bias=False, activation="gelu")
nn.TransformerEncoderLayer(4, 2, 8, activation="x")
nn.TransformerDecoderLayer(5, 2)
nn.TransformerDecoderLayer()
nn.TransformerEncoderLayer(4)
nn.TransformerEncoderLayer(4, 2, foo=1)
nn.Linear(1)
nn.LazyLinear()
[nn.TransformerEncoderLayer(4, 2, activation=a).activation_relu_or_gelu for a in ("relu", F.gelu, nn.GELU(), F.silu)]
nn.TransformerEncoder(Custom(), 2).num_layers
transformer(Q, Q)
transformer(Q, Q, batch_first=True, norm_first=True)
transformer(Q, Q[:, :1])
transformer(Q, Q[..., :3])
transformer(Q[0], Q[0])
transformer(Q, Q[:1], batch_first=True)
transformer(Q, Q, call={"tgt_mask": causal, "tgt_is_causal": True, "memory_key_padding_mask": pad})
nn.Transformer(4, 2, 1, 1, 8, custom_encoder=Custom(), custom_decoder=Custom())(Q, Q)
"""
