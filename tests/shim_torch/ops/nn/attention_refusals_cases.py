"""What attention, dropout and padding refuse, and how padded sequences lie in memory."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "q": pattern(torch, 1, 3, 4, 8, seed=1),
        "k": pattern(torch, 1, 2, 4, 8, seed=2),
        "rows": [pattern(torch, n, 2, seed=n) for n in (3, 1, 2)],
    }


CASES = """
F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(4, 4, dtype=torch.int64))
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(4, 4, dtype=torch.float64))
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(4, 4, dtype=torch.bool))
F.scaled_dot_product_attention(q, q, q, dropout_p=2.0)
F.scaled_dot_product_attention(q, q.double(), q)
torch.dropout(q, 1.5, True)
nn.Bilinear(0, 1, 1)
nn.utils.rnn.pad_sequence(rows)
nn.utils.rnn.pad_sequence(rows).stride()
nn.utils.rnn.pad_sequence(rows, batch_first=True).stride()
nn.utils.rnn.pad_sequence(rows, padding_side="left")
[t.stride() for t in nn.utils.rnn.unpad_sequence(nn.utils.rnn.pad_sequence(rows), torch.tensor([3, 1, 2]))]
""".strip().splitlines()
