"""A thread without the interpreter's lock lets go of a last reference while another takes one from a weak reference.

``last_references.py WHAT SECONDS`` goes on for so long and prints how often the other thread had one while the first let go.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import weakref

import shim_torch as torch
from shim_torch._impl.native import _core

LIB = ctypes.CDLL(_core.__file__)  # which calls without the lock
LEAF = torch.ones(4, requires_grad=True)


class Sub(torch.Tensor):
    pass


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Twice.last = weakref.ref(ctx)
        ctx.tag = 7
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def an_object():
    """A tensor that keeps its object, which comes back as the result of an operator."""
    t = torch.zeros(4).as_subclass(Sub)
    t.tag = 7
    ref = weakref.ref(t)

    def use():
        o = ref()
        if o is None:
            return False
        assert o.tag == 7 and o.add_(1) is o
        return True

    return t, use


def an_object_of_a_storage():
    t = torch.zeros(4)
    storage = t.untyped_storage()
    storage.tag = 7
    ref = weakref.ref(storage)

    def use():
        o = ref()
        if o is None:
            return False
        assert o.tag == 7 and torch.empty(0).set_(o).untyped_storage() is o
        return True

    return t, use


def a_storage():
    t = torch.zeros(4)
    number = t.untyped_storage()._weak_ref()

    def use():
        if torch.UntypedStorage._new_with_weak_ptr(number) is not None:
            return True
        if torch.UntypedStorage._expired(number):
            torch.UntypedStorage._free_weak_ref(number)
            return False
        return True

    return t, use


def a_ctx():
    t = Twice.apply(LEAF)
    ref = Twice.last

    def use():
        ctx = ref()
        if ctx is None:
            return False
        assert ctx.tag == 7
        try:
            assert len(ctx.saved_tensors) == len(ctx.next_functions) == 1 and ctx.name() == "TwiceBackward"
        except RuntimeError:  # its node is gone
            pass
        return True

    return t, use


def a_leaf():
    """The node that a leaf's gradient arrives at goes with the last graph that has it."""
    left = [20]

    def use():
        z = LEAF * 3
        assert z.grad_fn.next_functions[0][0].variable is LEAF
        left[0] -= 1
        return left[0] > 0

    return LEAF * 2, use


class Letting(threading.Thread):
    """Lets go of a tensor's handle when it is told to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.told, self.handle, self.begun, self.done = threading.Event(), 0, False, False

    def run(self):
        while True:
            self.told.wait()
            self.told.clear()
            if not self.handle:
                return
            self.begun = True
            LIB.aoti_torch_delete_tensor_object(ctypes.c_void_p(self.handle))
            self.done = True

    def tell(self, handle):
        self.handle, self.begun, self.done = handle, False, False
        self.told.set()


def main(what, seconds):
    sys.setswitchinterval(1e-5)
    letting, met, end = Letting(), 0, time.monotonic() + seconds
    letting.start()
    while time.monotonic() < end:
        t, use = globals()[what]()
        handle, second = t._cdata, ctypes.c_void_p()
        assert LIB.aoti_torch_new_tensor_handle(ctypes.c_void_p(handle), ctypes.byref(second)) == 0
        del t
        letting.tell(handle)
        while use():
            met += letting.begun
        while not letting.done:
            time.sleep(0)
    letting.tell(0)
    letting.join()
    print(met)


main(sys.argv[1], float(sys.argv[2]))
