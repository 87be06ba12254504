"""Default hooks of saved tensors that go while one of them runs."""

import weakref

import shim_torch as torch


def test_a_pack_hook_may_leave_its_own_context():
    """What it packed is unpacked by its partner, which nobody else has any more; what is saved after it is not packed."""
    log = []

    class Unpack:
        def __call__(self, t):
            log.append("unpack")
            return t

    def enter():
        unpack = Unpack()
        entered.append(torch.autograd.graph.saved_tensors_hooks(lambda t: pack(t), unpack))
        entered[0].__enter__()
        return weakref.ref(unpack)

    def pack(t):
        log.append("pack")
        entered.pop().__exit__(None, None, None)
        return t

    entered = []
    partner = enter()
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.exp()
    assert partner() is not None
    z = y * y
    z.sum().backward()
    assert log == ["pack", "unpack"] and partner() is None
    torch.testing.assert_close(x.grad, 2 * (2 * x.detach()).exp())
