"""The type of ``torch.__version__``: ordered by version, equal to strings alone."""

from __future__ import annotations

import pytest

from shim_torch import __version__
from shim_torch.torch_version import TorchVersion

v = TorchVersion("2.13.0+shim")


@pytest.mark.parametrize("other", ["2.13.0", "2.9", (2, 13, 0), [2, 1], "2.4.0a0"])
def test_ordered_by_version(other):
    assert v >= other and v > other and not v < other and not v <= other
    assert v < "2.14" and v <= (3,)


def test_strings_that_are_no_versions_are_compared_as_strings():
    assert v < "parrot" and not v >= "parrot"


@pytest.mark.parametrize("other", [None, 3, "2.13.0", (2, 13, 0), "parrot", object()])
def test_equal_to_the_same_string_alone(other):
    assert (v == other) is False and (v != other) is True
    assert v == "2.13.0+shim" and v not in (None, "") and {v: 1}["2.13.0+shim"] == 1


@pytest.mark.parametrize("other", [None, 3, ("a", None)[1:]])
def test_ordering_refuses_what_has_no_version(other):
    with pytest.raises(TypeError, match="'<' not supported between instances of 'TorchVersion'"):
        v < other  # noqa: B015


def test_the_version_is_one():
    assert type(__version__) is TorchVersion and __version__ >= "2.13"


def test_versions_pickle_where_torch_is_not_ours():
    """Checkpoints hold them."""
    import copy
    import io
    import pickle

    import shim_torch as torch
    import shim_torch.torch_version

    assert type(torch.__version__).__module__ == "torch.torch_version"
    for twin in (pickle.loads(pickle.dumps(torch.__version__)), copy.deepcopy(torch.__version__)):
        assert type(twin) is type(torch.__version__) and twin == torch.__version__ and twin > "1.0"
    file = io.BytesIO()
    torch.save({"version": torch.__version__}, file)
    file.seek(0)
    assert torch.load(file, weights_only=False) == {"version": torch.__version__}  # PyTorch refuses it otherwise, too


def test_operators_classes_name_pytorchs_modules():
    import shim_torch as torch

    kinds = [torch.ops.aten.add, torch.ops.aten.add.Tensor, torch.ops.aten.add.Tensor._schema]
    assert [type(k).__module__ for k in kinds] == ["torch._ops", "torch._ops", "torch._C"]
    assert all(isinstance(base.__module__, str) for base in type(kinds[0]).__mro__)
