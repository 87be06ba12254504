"""``torch.optim``: optimizers and learning-rate schedules."""

from shim_torch._impl.optim import adagrad_rmsprop, adaptive, matrix_optimizers
from shim_torch._impl.optim.adagrad_rmsprop import Adagrad, RMSprop
from shim_torch._impl.optim.adaptive import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop
from shim_torch._impl.optim.matrix_optimizers import Adafactor, Muon, SparseAdam
from shim_torch.optim import adam, lr_scheduler, optimizer
from shim_torch.optim.adam import Adam, AdamW
from shim_torch.optim.lbfgs import LBFGS
from shim_torch.optim.optimizer import Optimizer
from shim_torch.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
]
for _class in (SGD, Adam, AdamW, Adagrad, RMSprop, ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop):
    _class.__module__ = f"torch.optim.{_class.__name__.lower()}"
del _class  # libraries register every optimizer that dir() names
LBFGS.__module__, Adafactor.__module__, Muon.__module__ = "torch.optim.lbfgs", "torch.optim", "torch.optim"
SparseAdam.__module__ = "torch.optim.sparse_adam"
Optimizer.__module__ = "torch.optim.optimizer"


adamw = adam  # PyTorch's file names
adagrad = rmsprop = adagrad_rmsprop
adadelta = adamax = asgd = nadam = radam = rprop = adaptive
sparse_adam = _adafactor = _muon = matrix_optimizers
