"""Operators that torch.ops.aten alone has: against the optimizers, layers and gradients that they are parts of."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

aten = torch.ops.aten


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name, amsgrad", [("Adam", False), ("Adam", True), ("AdamW", False)])
def test_fused_adam_is_a_step_of_the_optimizer(name, amsgrad):
    p = torch.nn.Parameter(_draw(5))
    optimizer = getattr(torch.optim, name)([p], lr=0.1, weight_decay=0.2, amsgrad=amsgrad)
    own, states = [p.detach().clone()], [[torch.zeros(5)] for _ in range(3)]
    for step in (1, 2):
        p.grad = _draw(5, seed=step)
        grads, most = [p.grad.clone()], states[2] if amsgrad else []
        optimizer.step()
        getattr(aten, f"_fused_{name.lower()}_")(
            own, grads, states[0], states[1], most, [torch.tensor(float(step))], lr=0.1, beta1=0.9, beta2=0.999,
            weight_decay=0.2, eps=1e-8, amsgrad=amsgrad, maximize=False,
        )  # fmt: skip
    assert torch.allclose(own[0], p.detach(), atol=1e-6)


def test_fused_sgd_skips_a_step_with_infinities_and_unscales():
    own, grad = [torch.ones(2)], [torch.tensor([2.0, 4.0])]
    settings = dict(
        weight_decay=0.0, momentum=0.0, lr=0.5, dampening=0.0, nesterov=False, maximize=False, is_first_step=True
    )
    aten._fused_sgd_(own, grad, [], **settings, grad_scale=torch.tensor(2.0), found_inf=torch.tensor(1.0))
    assert own[0].tolist() == [1.0, 1.0]
    aten._fused_sgd_(own, grad, [], **settings, grad_scale=torch.tensor(2.0), found_inf=torch.tensor(0.0))
    assert own[0].tolist() == [0.5, 0.0] and grad[0].tolist() == [1.0, 2.0]


def test_the_functional_fused_optimizer_leaves_its_arguments():
    p, g = torch.ones(2), torch.ones(2)
    made = aten._fused_adagrad(
        [p], [g], [torch.zeros(2)], [torch.tensor(1.0)], lr=0.5, lr_decay=0.0, weight_decay=0.0, eps=0.0, maximize=False
    )
    assert p.tolist() == [1.0, 1.0] and made[0][0].tolist() == [0.5, 0.5] and made[2][0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_batch_normalization(training):
    x, w, b = _draw(4, 3, 2).requires_grad_(), _draw(3, seed=1).requires_grad_(), torch.zeros(3, requires_grad=True)
    mean, var, g = _draw(3, seed=2), _draw(3, seed=3).abs() + 0.5, _draw(4, 3, 2, seed=4)
    F.batch_norm(x, mean.clone(), var.clone(), w, b, training, 0.1, 1e-5).backward(g)
    _, saved, rstd = aten.native_batch_norm(x, w, b, mean.clone(), var.clone(), training, 0.1, 1e-5)
    found = aten.native_batch_norm_backward(g, x, w, mean, var, saved, rstd, training, 1e-5, [True, True, True])
    for one, other in zip(found, (x.grad, w.grad, b.grad), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_gradients_of_group_and_rms_normalization():
    x, w = _draw(2, 6, 4).requires_grad_(), _draw(6, seed=1).requires_grad_()
    b, g = torch.zeros(6, requires_grad=True), _draw(2, 6, 4, seed=2)
    y, mean, rstd = aten.native_group_norm(x, w, b, 2, 6, 4, 3, 1e-5)
    y.backward(g)
    found = aten.native_group_norm_backward(g, x, mean, rstd, w, 2, 6, 4, 3, [True, True, True])
    for one, other in zip(found, (x.grad, w.grad, b.grad), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    x, w, g = _draw(4, 6).requires_grad_(), _draw(6, seed=1).requires_grad_(), _draw(4, 6, seed=2)
    F.rms_norm(x, [6], w, 1e-5).backward(g)
    rstd = (x.detach().pow(2).mean(1, keepdim=True) + 1e-5).rsqrt()
    found = aten._fused_rms_norm_backward(g, x.detach(), [6], rstd, w.detach(), [True, True])
    assert torch.allclose(found[0], x.grad, atol=1e-5) and torch.allclose(found[1], w.grad, atol=1e-5)


def test_statistics_of_two_processes_are_those_of_all_elements():
    x = _draw(6, 3)
    parts = [torch.batch_norm_stats(p, 1e-5) for p in (x[:2], x[2:])]
    mean, invstd = (torch.stack([p[i] for p in parts]) for i in (0, 1))
    whole = torch.batch_norm_gather_stats_with_counts(x, mean, invstd, None, None, 0.1, 1e-5, torch.tensor([2.0, 4.0]))
    for one, other in zip(whole, torch.batch_norm_stats(x, 1e-5), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert torch.allclose(
        torch.batch_norm_elemt(x, None, None, *whole, 1e-5), F.batch_norm(x, None, None, training=True), atol=1e-5
    )


def test_gradients_of_cells():
    gates, cx = _draw(2, 12).requires_grad_(), _draw(2, 3, seed=1).requires_grad_()
    hy, cy, space = aten._thnn_fused_lstm_cell(gates, torch.zeros(2, 12), cx)
    g = _draw(2, 3, seed=2)
    expected = torch.autograd.grad((hy, cy), (gates, cx), (g, g * 2), retain_graph=True)
    found = aten._thnn_fused_lstm_cell_backward_impl(g, g * 2, cx, cy, space, True)
    assert torch.allclose(found[0], expected[0], atol=1e-6) and torch.allclose(found[1], expected[1], atol=1e-6)
    left, right = _draw(2, 9).requires_grad_(), _draw(2, 9, seed=3).requires_grad_()
    hy, space = aten._thnn_fused_gru_cell(left, right, cx)
    expected = torch.autograd.grad(hy, (left, right, cx), g, retain_graph=True)
    for one, other in zip(aten._thnn_fused_gru_cell_backward(g, space, False), expected, strict=False):
        assert torch.allclose(one, other, atol=1e-6)


def test_double_backward_of_a_convolution():
    x, w, g = (
        _draw(1, 2, 5, 5).requires_grad_(),
        _draw(3, 2, 3, 3, seed=1).requires_grad_(),
        _draw(1, 3, 3, 3, seed=2).requires_grad_(),
    )
    gx, gw = torch.autograd.grad(F.conv2d(x, w), (x, w), g, create_graph=True)
    ggx, ggw = _draw(1, 2, 5, 5, seed=3), _draw(3, 2, 3, 3, seed=4)
    expected = torch.autograd.grad((gx, gw), (g, x, w), (ggx, ggw))
    settings = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    found = aten._convolution_double_backward(ggx, ggw, None, g.detach(), w.detach(), x.detach(), *settings)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_fake_quantization_rounds_and_passes_gradients_in_range():
    x = torch.tensor([-1.0, 0.26, 0.6, 9.0], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.5, 1, 0, 7)
    assert y.tolist() == [-0.5, 0.5, 0.5, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]
    by_channel = torch.fake_quantize_per_channel_affine(
        torch.ones(2, 2), torch.tensor([0.3, 1.0]), torch.tensor([0, 0], dtype=torch.int32), 0, 0, 10
    )
    assert torch.allclose(by_channel, torch.tensor([[0.9, 0.9], [1.0, 1.0]]))
    with pytest.raises(RuntimeError, match="`zero_point` must be between"):
        torch.fake_quantize_per_tensor_affine(x, 0.5, 9, 0, 7)


def test_rows_of_different_lengths():
    values, offsets = torch.arange(5.0).reshape(5, 1), torch.tensor([0, 2, 5])
    padded = aten._jagged_to_padded_dense_forward(values, [offsets], [4], -1.0)
    assert padded.squeeze(-1).tolist() == [[0, 1, -1, -1], [2, 3, 4, -1]]
    assert aten._padded_dense_to_jagged_forward(padded, [offsets]).tolist() == values.tolist()


def test_embedding_bags():
    weight, indices, offsets = _draw(6, 3).requires_grad_(), torch.tensor([1, 2, 4, 1, 0]), torch.tensor([0, 2])
    g = _draw(2, 3, seed=1)
    for mode, name in enumerate(("sum", "mean", "max")):
        expected = torch.autograd.grad(F.embedding_bag(indices, weight, offsets, mode=name), weight, g)[0]
        _, bag, size, most = aten._embedding_bag(weight.detach(), indices, offsets, False, mode, False, None)
        found = aten._embedding_bag_backward(g, indices, offsets, bag, size, most, 6, False, mode, False, None)
        assert torch.allclose(found, expected, atol=1e-6)


def test_checks_and_ranges():
    aten._assert_async.msg(torch.tensor(1), "no")
    with pytest.raises(RuntimeError, match="bad things"):
        aten._assert_async.msg(torch.tensor(0), "bad things")
    with pytest.raises(RuntimeError, match=r"Invalid value range for 7 between \[1, 5\]"):
        torch.sym_constrain_range(7, min=1, max=5)
    token = torch.tensor([3.0])
    assert aten._functional_assert_scalar(True, "x", token).tolist() == [3.0]
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"
    ):
        torch._linalg_check_errors(torch.tensor([0, 2], dtype=torch.int32), "linalg.inv", is_matrix=False)


def test_an_operator_without_a_kernel_can_be_named_and_given_one():
    operator = aten._nested_get_lengths
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::_nested_get_lengths' with arguments from the 'CPU' backend"
    ):
        operator(torch.ones(2))
    library = torch.library.Library("aten", "IMPL")
    library.impl("_nested_get_lengths", lambda x: x.new_full((1,), x.numel()), "CPU")
    assert operator(torch.ones(3)).tolist() == [3.0]
    library._destroy()


def test_memory_and_state():
    x = torch.arange(6.0)
    y = aten.set_.source_Tensor_storage_offset(torch.empty(0), x, 1, [2, 2], [2, 1])
    assert y.tolist() == [[1, 2], [3, 4]] and y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert [torch._debug_has_internal_overlap(t) for t in (x, x.reshape(2, 3)[:, :2], torch.ones(1).expand(3))] == [
        0,
        2,
        1,
    ]
    assert aten.result_type.Scalar(torch.tensor([1]), 2.5) == 6
