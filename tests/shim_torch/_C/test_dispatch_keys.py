"""The dispatch keys of tensors, as texts and sets, and those that a thread leaves out."""

import shim_torch as torch
from shim_torch._C import (
    DispatchKey,
    DispatchKeySet,
    _dispatch_key_set,
    _dispatch_keys,
    _dispatch_tls_local_exclude_set,
    _ExcludeDispatchKeyGuard,
)
from shim_torch._subclasses.fake_tensor import FakeTensorMode


def test_keys_of_tensors():
    x = torch.ones(2)
    assert _dispatch_key_set(x) == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    assert _dispatch_key_set(x.to("meta")) == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    assert _dispatch_key_set(x.to_sparse()) == "DispatchKeySet(SparseCPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    turned = torch.ones(2, dtype=torch.complex64).conj()
    assert _dispatch_key_set(turned) == "DispatchKeySet(CPU, Conjugate, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    with torch.inference_mode():
        assert _dispatch_key_set(torch.ones(2)) == "DispatchKeySet(CPU, AutocastCPU)"
    with FakeTensorMode():
        found = _dispatch_key_set(torch.ones(2))
    assert found == "DispatchKeySet(CPU, Python, ADInplaceOrView, AutogradCPU, AutocastCPU, PythonTLSSnapshot)"
    assert _dispatch_keys(x).has(DispatchKey.AutogradCPU) and not _dispatch_keys(x).has(DispatchKey.Python)


def test_excluded_keys_and_transforms_within():
    x = torch.tensor(2.0)
    assert not _dispatch_tls_local_exclude_set().has(DispatchKey.Autograd)
    with _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.Autograd)):
        assert _dispatch_tls_local_exclude_set().has(DispatchKey.Autograd)
        assert torch.func.grad(lambda x: x * x)(x).item() == 4
    assert not _dispatch_tls_local_exclude_set().has(DispatchKey.Autograd)
    assert _dispatch_tls_local_exclude_set().has(DispatchKey.AutocastCPU)
    with torch.autocast("cpu"):
        assert not _dispatch_tls_local_exclude_set().has(DispatchKey.AutocastCPU)
