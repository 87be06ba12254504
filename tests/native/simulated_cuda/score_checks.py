"""Cross entropy of narrow scores within programs on the simulated driver."""

import shim_torch as torch
from shim_torch.nn import functional as F


def narrow_scores():
    """A loss of narrow scores that are converted reads them as they are; its gradient takes their memory. Bits are eager's."""
    torch.manual_seed(0)
    x, w = (torch.randn(2, 7, 64).bfloat16(), torch.randn(64, 96).bfloat16())
    target = torch.randint(0, 96, (2, 7)).cuda()
    target[0, 2] = -100
    kept = []

    def loss_of(kind, x, w):
        scores = x @ w
        if kind == "sliced":
            return F.cross_entropy(scores[:, :-1].reshape(-1, 96).float(), target[:, 1:].reshape(-1))
        if kind == "seen":
            kept.append(scores)
            return F.cross_entropy(scores.reshape(-1, 96).float(), target.reshape(-1))
        return F.cross_entropy(scores.reshape(-1, 96).float(), target.reshape(-1), reduction=kind)

    def step(kind, x, w):
        loss = loss_of(kind, x, w)
        loss.sum().backward()
        return loss.detach().clone()

    for kind in ("sliced", "seen", "mean", "sum", "none"):
        compiled = torch.compile(step)
        for _ in range(3):
            found = []
            for f in (step, compiled):
                given = [t.cuda().requires_grad_() for t in (x, w)]
                found.append([f(kind, *given), *[t.grad for t in given]])
            for a, b in zip(*found, strict=True):
                assert torch.equal(a.cpu(), b.cpu()), kind
            assert not kept or torch.equal(kept[-2].cpu(), kept[-1].cpu())
        text = compiled._shim_compiled.source
        assert "cross_entropy_scores.default" in text, text
        assert ("cross_entropy_scores_put_" in text) == (kind != "seen"), text
        assert "_to_copy" not in text or kind == "seen", text
