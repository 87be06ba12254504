"""Layers with options that are seldom given: values, gradients, how they print, and what they refuse."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 2, 4, 6, seed=1).requires_grad_()
    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "x": x,
        "p": pattern(torch, 3, 4, seed=2).requires_grad_(),
        "q": pattern(torch, 3, 4, seed=3),
        "image": pattern(torch, 1, 2, 4, 4, seed=4).requires_grad_(),
        "classes": torch.tensor([1, 0, 3]),
        "ids": torch.tensor([[0, 2], [1, 3]]),
        "table": pattern(torch, 5, 3, seed=5).requires_grad_(),
        "inf": float("inf"),
    }


CASES = """
nn.LPPool1d(inf, 2)(x)
nn.LPPool2d(inf, 2, stride=1)(image)
F.embedding_bag(ids, table, include_last_offset=True)
F.embedding_bag(ids, table, include_last_offset=True, mode="sum")
F.embedding_bag(ids, table, include_last_offset=True, mode="max")
F.cross_entropy(p, q.softmax(1), ignore_index=1)
F.cross_entropy(p, q.softmax(1), ignore_index=-3)
F.cross_entropy(p, classes, label_smoothing=2.0)
F.group_norm(x, 2, torch.ones(6))
F.group_norm(x, 2, torch.ones(4, 1))
F.group_norm(x, 2, torch.ones(4))
F.bilinear(p, p, torch.ones(2, 4, 3))
F.bilinear(p, p, torch.ones(2, 4, 4).double())
F.bilinear(p, q, torch.ones(2, 4, 4))
F.conv1d(x.bfloat16(), torch.ones(4, 4, 1))
F.conv1d(x.double(), torch.ones(4, 4, 1))
F.conv1d(x, torch.ones(4, 4, 1).double(), torch.ones(4).double())
F.conv2d(image, torch.ones(4, 2, 1, 1), torch.ones(4).half())
nn.TripletMarginLoss(margin=-1)
nn.TripletMarginWithDistanceLoss(margin=0)
nn.Hardtanh(1, -1)
repr(nn.TripletMarginWithDistanceLoss())
repr(nn.CosineSimilarity(0, 0.1))
repr(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()]))
repr(nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())]))
repr(nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ReLU()]))
repr(nn.ModuleList())
repr(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2))
""".strip().splitlines()
