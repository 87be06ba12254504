"""Subclasses of Tensor that cases are about."""


def classes_of(torch):
    class Sub(torch.Tensor):
        shared = "class attribute"

        def double(self):
            return self * 2

    class Logged(torch.Tensor):
        log: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append((getattr(func, "__name__", str(func)), [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs)

    return Sub, Logged


def kind_of(x):
    return type(x).__name__
