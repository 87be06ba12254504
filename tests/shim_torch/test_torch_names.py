"""What functions and classes call their module, and public names that PyTorch does not have."""

import copy
import importlib
import pickle
import sys
import typing
from types import FunctionType

import pytest

import shim_torch as torch
from shim_torch._impl.serialization.class_pickling import resolve
from shim_torch._impl.surface.missing import has

MODULES = {
    "torch.nn.functional": ["relu", "cross_entropy", "max_pool2d", "scaled_dot_product_attention"],
    "torch.nn.init": ["kaiming_uniform_", "xavier_uniform"],
    "torch.nn.modules.linear": ["Linear", "NonDynamicallyQuantizableLinear"],
    "torch.nn.utils.rnn": ["pad_sequence", "PackedSequence"],
    "torch.nn.utils.prune": ["RandomUnstructured", "l1_unstructured"],
    "torch.functional": ["einsum", "atleast_1d", "unique", "cdist"],
    "torch.serialization": ["load", "save", "add_safe_globals", "LoadEndianness"],
    "torch.amp.grad_scaler": ["GradScaler"],
    "torch.autograd.functional": ["jacobian"],
    "torch.distributed.distributed_c10d": ["all_reduce", "AllreduceOptions", "get_rank"],
    "torch.distributions.normal": ["Normal"],
    "torch.distributions.transforms": ["AffineTransform", "ComposeTransform", "CorrCholeskyTransform"],
    "torch.distributions.kl": ["kl_divergence"],
    "torch.optim.lr_scheduler": ["StepLR", "ChainedScheduler", "OneCycleLR", "LRScheduler"],
    "torch.optim.swa_utils": ["AveragedModel"],
    "torch.utils.checkpoint": ["checkpoint", "CheckpointFunction"],
    "torch.utils.data.dataset": ["Dataset", "TensorDataset", "random_split"],
    "torch.utils.data.dataloader": ["DataLoader"],
    "torch.utils._pytree": ["tree_map", "tree_flatten", "register_pytree_node"],
    "torch.cuda.random": ["manual_seed", "get_rng_state"],
    "torch.cuda.memory": ["empty_cache", "memory_allocated"],
    "torch.library": ["Library", "custom_op", "infer_schema"],
    "torch": ["is_tensor", "as_tensor", "from_numpy", "is_floating_point"],
}


@pytest.mark.parametrize("module, name", [(module, name) for module, names in MODULES.items() for name in names])
def test_the_module_is_pytorchs(module, name):
    found = resolve(module, name)
    assert found.__module__ == module and resolve(module, found.__qualname__) is found


def test_every_such_name_leads_back():
    """Pickles look functions and classes up by the names these give themselves."""
    importlib.import_module("shim_torch.distributions")
    wrong = []
    for ours, module in list(sys.modules.items()):
        if not ours.startswith("shim_torch.") or "_torch_names" not in vars(module):
            continue
        for name, value in vars(module).items():
            if (
                name[0] == "_"
                or not isinstance(value, (type, FunctionType))
                or not value.__module__.startswith("torch.")
            ):
                continue
            if not has(f"{value.__module__}.{value.__qualname__}"):
                continue  # a helper's
            if getattr(resolve(value.__module__, value.__qualname__), "__qualname__", None) != value.__qualname__:
                wrong.append((ours, name, value.__module__))
    assert not wrong


def test_instances_are_pickled_where_there_is_no_torch():
    normal = pickle.loads(pickle.dumps(torch.distributions.Normal(torch.zeros(2), 1.0)))
    assert type(normal) is torch.distributions.Normal and normal.loc.tolist() == [0.0, 0.0]
    data = pickle.loads(pickle.dumps(torch.utils.data.TensorDataset(torch.ones(2))))
    assert type(data) is torch.utils.data.TensorDataset and data[1][0].item() == 1.0
    assert type(copy.deepcopy(torch.amp.GradScaler("cpu", enabled=False))) is torch.amp.GradScaler


@pytest.mark.parametrize(
    "cls", [torch.nn.Linear, torch.utils.data.DataLoader, torch.utils.data.Sampler], ids=lambda c: c.__name__
)
def test_annotations_are_found(cls):
    assert isinstance(typing.get_type_hints(cls), dict)
    assert typing.get_type_hints(cls.__init__)


OURS_ALONE = {
    "torch": ["sgn_", "set_default_dtype_", "get_printoptions", "fork_rng", "TorchVersion"],
    "torch.Tensor": ["pointwise_loss", "add_runs", "masked_scale", "cross_entropy", "rsub"],
    "torch.Generator": ["take"],
    "torch.nn": ["NonDynamicallyQuantizableLinear"],
    "torch.nn.init": ["no_grad"],
    "torch.random": ["cuda_seed", "manual_seed_cuda"],
    "torch.library": ["VMAP_RULES", "lookup", "parse_namespace"],
    "torch.mps": ["memory_allocated", "names", "init"],
    "torch.xpu": ["default_stream"],
    "torch.mtia": ["temperature"],
    "torch.storage": ["check_real", "over"],
    "torch.optim.lr_scheduler": ["FunctionsOfEpoch"],
}


@pytest.mark.parametrize("owner, name", [(owner, name) for owner, names in OURS_ALONE.items() for name in names])
def test_names_that_pytorch_lacks_are_not_here(owner, name):
    assert not has(f"{owner}.{name}")
    assert not hasattr(resolve(*owner.rpartition(".")[::2]) if "." in owner else torch, name)


def test_star_imports_bring_no_helpers():
    assert not {"Any", "annotations", "threading", "index_of", "_index_of"} & set(torch.cuda.__all__)
    assert {"manual_seed", "Stream", "is_available"} <= set(torch.cuda.__all__)


def test_a_star_import_of_torch_brings_its_functions():
    torch.set_vital
    found: dict[str, object] = {}
    vars(torch).pop("__all__", None)
    exec("from shim_torch import *", found)
    assert {"zeros", "softmax", "save", "no_grad", "Tensor", "float32", "det", "manual_seed", "compile"} <= set(found)
    assert not {"Any", "annotations", "nn", "importlib", "sys", "ops"} & set(found)
    assert {"save", "nn", "zeros", "autocast"} <= set(dir(torch)) and len(found) > 700


def test_what_pytorchs_own_pickles_hold():
    """A generator's state, and an untyped storage in the older form of files, which plain pickles of storages hold."""
    first = torch.Generator().manual_seed(5)
    torch.rand(3, generator=first)
    twin = torch.Generator()
    twin.__setstate__((5, None, first.get_state()))
    assert (
        twin.initial_seed() == 5 and torch.rand(2, generator=twin).tolist() == torch.rand(2, generator=first).tolist()
    )
    data = (
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03X\r\x00"
        b"\x00\x00little_endianq\x02\x88X\n\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq\x05K\x02X\x03\x00\x00\x00intq\x06K"
        b"\x04X\x04\x00\x00\x00longq\x07K\x04uu.\x80\x02(X\x07\x00\x00\x00storageq\x00ctorch.storage\nUntypedStorage\nq\x01X\x0e\x00\x00"
        b"\x0094600695006096q\x02X\x03\x00\x00\x00cpuq\x03K\x04Ntq\x04Q.\x80\x02]q\x00X\x0e\x00\x00\x0094600695006096q\x01a.\x04\x00"
        b"\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03"
    )
    found = torch.storage._load_from_bytes(data)
    assert type(found) is torch.UntypedStorage and found.tolist() == [0, 1, 2, 3]


def test_names():
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine"
    assert torch.Tag.pointwise == 16
    assert torch.sym_max(2, 3.0) == 3.0
    assert isinstance(torch.sym_max(2, 3.0), float)
    assert torch.sym_not(False)
    assert torch.is_autocast_cpu_enabled() is False
    assert torch._vendor.packaging.version.parse("2.1") < torch._vendor.packaging.version.parse("2.10")
    with pytest.raises(NotImplementedError, match="torch.qr of a nested tensor"):
        torch.qr(torch.nested.nested_tensor([torch.ones(2, 2)]))
    assert torch.sparse.mm(torch.eye(2), torch.ones(2, 1)).tolist() == [[1.0], [1.0]]


def test_functions_that_only_the_table_shows():
    from shim_torch import _VF

    assert torch._VF is _VF and not hasattr(torch, "unique_dim")
    assert _VF.unique_dim(torch.tensor([1, 1, 0]), 0)[0].tolist() == [0, 1]
    assert _VF.lstm is not None and not hasattr(_VF, "no_such_function")
