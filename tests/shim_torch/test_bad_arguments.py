"""Arguments of wrong types and values: the errors of PyTorch 2.13 on the CPU."""

import pytest
from refused import check_refused

import shim_torch as torch


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


CASES = {
    "pad by a dict": (
        lambda: torch.nn.functional.pad(ones(2), {}), TypeError,
        "pad(): argument 'pad' (position 2) must be tuple of ints, not dict"),
    "pad by None": (
        lambda: torch.nn.functional.pad(ones(2), None), TypeError,
        "pad(): argument 'pad' (position 2) must be tuple of ints, not NoneType"),
    "embedding of a list": (
        lambda: torch.nn.functional.embedding(torch.tensor([0]), [1.0], 0), TypeError,
        "embedding(): argument 'weight' (position 1) must be Tensor, not list"),
    "embedding with a bool": (
        lambda: torch.nn.functional.embedding(torch.tensor([0]), ones(2, 2), True), TypeError,
        "embedding(): argument 'padding_idx' (position 3) must be int, not bool"),
    "embedding with a float": (
        lambda: torch.nn.functional.embedding(torch.tensor([0]), ones(2, 2), 1.5), TypeError,
        "embedding(): argument 'padding_idx' (position 3) must be int, not float"),
    "frombuffer's count": (
        lambda: torch.frombuffer(bytearray(4), dtype=torch.int8, count=None), TypeError,
        "frombuffer(): argument 'count' must be int, not NoneType"),
    "frombuffer's offset": (
        lambda: torch.frombuffer(bytearray(4), dtype=torch.int8, offset=True), TypeError,
        "frombuffer(): argument 'offset' must be int, not bool"),
    "frombuffer's requires_grad": (
        lambda: torch.frombuffer(bytearray(4), dtype=torch.float32, requires_grad=None), TypeError,
        "frombuffer(): argument 'requires_grad' must be bool, not NoneType"),
    "meshgrid's indexing": (
        lambda: torch.meshgrid(ones(2), indexing=1), TypeError, "meshgrid(): argument 'indexing' must be str, not int"),
    "tensor's device": (
        lambda: torch.tensor([1], device=1.5), TypeError,
        "tensor(): argument 'device' must be torch.device, not float"),
    "tensor's requires_grad": (
        lambda: torch.tensor([1.0], requires_grad=1), TypeError,
        "tensor(): argument 'requires_grad' must be bool, not int"),
    "tensor's pin_memory": (
        lambda: torch.tensor([1.0], pin_memory=None), TypeError,
        "tensor(): argument 'pin_memory' must be bool, not NoneType"),
    "as_tensor's dtype": (
        lambda: torch.as_tensor(ones(1), dtype=()), TypeError,
        "as_tensor(): argument 'dtype' must be torch.dtype, not tuple"),
    "asarray's device": (
        lambda: torch.asarray([1], device=[]), TypeError,
        "asarray(): argument 'device' must be torch.device, not list"),
    "asarray's copy": (
        lambda: torch.asarray([1], copy=1), TypeError, "asarray(): argument 'copy' must be bool, not int"),
    "new_tensor's dtype": (
        lambda: ones(1).new_tensor([1], dtype={}), TypeError,
        "new_tensor(): argument 'dtype' must be torch.dtype, not dict"),
    "new_tensor's device": (
        lambda: ones(1).new_tensor([1], device=""), RuntimeError, "Device string must not be empty"),
    "new_tensor's requires_grad": (
        lambda: ones(1).new_tensor([1], requires_grad=1), TypeError,
        "new_tensor(): argument 'requires_grad' must be bool, not int"),
    "grids of a dtype": (
        lambda: torch.meshgrid(torch.int8, indexing="ij"), TypeError,
        "expected Tensor as element 0 in argument 0, but got torch.dtype"),
    "kl_div of integers as targets": (
        lambda: torch.nn.functional.kl_div(ones(2), torch.tensor([1, 2]), reduction="sum"), RuntimeError,
        "kl_div: Integral inputs not supported."),
    "kl_div of complex targets": (
        lambda: torch.kl_div(ones(2), ones(2, dtype=torch.complex64)), RuntimeError,
        "kl_div: Complex inputs not supported."),
    "a triangle of rows below 0": (
        lambda: torch.triu_indices(-1, 2), RuntimeError, "row must be non-negative, got-1"),
    "a triangle of columns below 0": (
        lambda: torch.tril_indices(2, -1), RuntimeError, "col must be non-negative, got-1"),
    "arange of complex numbers": (
        lambda: torch.arange(0, 5, 1j), RuntimeError, "value cannot be converted to type double without overflow"),
    "var's correction": (
        lambda: torch.var(ones(2), 0, correction=1j), RuntimeError,
        "value cannot be converted to type double without overflow"),
    "var_mean's correction": (
        lambda: torch.var_mean(ones(2), 0, correction=1j), RuntimeError,
        "value cannot be converted to type double without overflow"),
    "the nuclear norm over one dim": (
        lambda: torch.norm(ones(2, 3), "nuc", 1), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused_in_pytorchs_words(name):
    check_refused(*CASES[name])
