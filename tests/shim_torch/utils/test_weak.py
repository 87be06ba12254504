"""torch.utils.weak: dictionaries whose keys are compared by identity."""

import pytest

import shim_torch as torch


def test_unions_of_weak_dictionaries():
    from shim_torch.utils.weak import WeakIdKeyDictionary

    a, b = torch.ones(1), torch.ones(1)
    one, two = WeakIdKeyDictionary({a: 1}), WeakIdKeyDictionary({a: 2, b: 3})
    assert dict((one | two).items())[a] == 2 and dict((two | one).items())[a] == 1 and len(one) == 1
    one |= two
    assert len(one) == 2
    with pytest.raises(TypeError):
        one | 3
