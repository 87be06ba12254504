"""What hooks may put in the place of a gradient: another of its kind. The texts are those of PyTorch 2.13."""

from __future__ import annotations

import gc

import pytest

import shim_torch as torch

WRONG = [
    (torch.ones(5), r"has changed the type of value \(was torch.DoubleTensor got torch.FloatTensor\)"),
    (
        torch.ones(2, 3, dtype=torch.int64),
        r"has changed the type of value \(was torch.DoubleTensor got torch.LongTensor\)",
    ),
    (torch.ones(2, 3).cdouble(), r"has changed the type of value \(was torch.DoubleTensor got CPUComplexDoubleType\)"),
    (torch.ones(2, 3, dtype=torch.float64, device="meta"), "torch.DoubleTensor got MetaDoubleType"),
    (torch.ones(3, 2, dtype=torch.float64), "has changed the size of value"),
    (torch.ones((), dtype=torch.float64), "has changed the size of value"),
]


def start() -> torch.Tensor:
    return torch.ones(2, 3, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("wrong, text", WRONG)
def test_hooks_of_tensors(wrong, text):
    def replaced(g):
        return wrong

    for tensor in (lambda leaf: leaf, lambda leaf: leaf * 2):
        leaf = start()
        seen = tensor(leaf)
        seen.register_hook(replaced)
        with pytest.raises(RuntimeError, match=f"hook 'replaced' .*{text}" if "has" in text else text):
            (seen * 3).sum().backward()
        assert leaf.grad is None


@pytest.mark.parametrize("wrong, text", WRONG)
def test_hooks_of_nodes(wrong, text):
    for register in ("register_hook", "register_prehook"):
        seen = start() * 2
        getattr(seen.grad_fn, register)(lambda *grads: (wrong,) if len(grads) == 1 else (wrong, None))
        with pytest.raises(RuntimeError, match=text):
            seen.sum().backward()


def test_hooks_of_nodes_give_tuples():
    right = torch.ones(2, 3, dtype=torch.float64)
    for given, error, text in (
        (right, TypeError, "expected tuple, but hook returned 'Tensor'"),
        ("a", TypeError, "expected tuple, but hook returned 'str'"),
        ((1,), TypeError, "expected Variable, but hook returned 'int'"),
        ((right, right), RuntimeError, r"incorrect number of values \(got 2, but expected 1\)"),
    ):
        seen = start() * 2
        seen.grad_fn.register_prehook(lambda grads, given=given: given)
        with pytest.raises(error, match=text):
            seen.sum().backward()
    seen = start() * 2
    seen.grad_fn.register_hook(lambda out, into: (right, right))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        seen.sum().backward()


def test_hooks_of_modules():
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        for wrong, text in (
            (torch.ones(5, 2), "hook 'hook' has changed the size of value"),
            (torch.ones(1, 2, dtype=torch.float64), "was torch.FloatTensor got torch.DoubleTensor"),
        ):
            layer = torch.nn.Linear(2, 2)
            getattr(layer, register)(lambda module, *grads, wrong=wrong: (wrong,))
            with pytest.raises(RuntimeError, match=text):
                layer(torch.ones(1, 2, requires_grad=True)).sum().backward()


def itself(kind: type) -> list | dict:
    made = kind()
    made.append(made) if kind is list else made.update(own=made)
    return made


@pytest.mark.parametrize("kind", [list, dict])
def test_what_holds_itself(kind):
    class Given(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return itself(kind)

    leaf = start()
    with pytest.raises(RuntimeError, match=rf"expected Variable or None \(got {kind.__name__}\)"):
        Given.apply(leaf).sum().backward()
    seen = leaf * 2
    seen.register_hook(lambda g: itself(kind))
    with pytest.raises(TypeError, match=f"expected Variable, but hook returned '{kind.__name__}'"):
        seen.sum().backward()
    kept = itself(kind)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept, t), lambda packed: packed[packed[0] is kept]):
        y = (leaf * leaf).sum()
    y.backward()
    assert leaf.grad.tolist() == [[2.0] * 3] * 2


def test_a_packed_value_may_be_nested_as_deep_as_one_likes():
    def packed(t):
        for _ in range(100_000):
            t = [t]
        return t

    def unpacked(packed):
        while isinstance(packed, list):
            packed = packed[0]
        return packed

    leaf = start()
    with torch.autograd.graph.saved_tensors_hooks(packed, unpacked):
        y = leaf.exp().sum()
    y.backward()
    assert torch.equal(leaf.grad, leaf.detach().exp())


def test_pack_hooks_may_take_themselves_off():
    class Packs:  # nobody else holds these
        def __call__(self, t):
            torch._C._autograd._pop_saved_tensors_default_hooks()
            gc.collect()
            return t * 2

    class Unpacks:
        def __call__(self, t):
            return t / 2

    leaf = start()
    torch._C._autograd._push_saved_tensors_default_hooks(Packs(), Unpacks())
    y = leaf.exp()
    gc.collect()
    y.sum().backward()
    assert torch.equal(leaf.grad, leaf.detach().exp())
