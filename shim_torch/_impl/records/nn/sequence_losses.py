"""CTC, the loss over sequences."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradient_once, gradients
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import WIDE, no_meta_kernel
from shim_torch._impl.tensor import from_data

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_NEVER = -1e30  # the log of zero: finite, so that gradients of what never happens are zero


def _padded_targets(targets: Any, lengths: list[int], blank: int) -> Any:
    """Targets (N, S), from that form or from one list of all."""
    if targets.dim() == 2:
        return targets
    longest = max(lengths, default=0)
    rows = targets.new_full((len(lengths), max(longest, 1)), blank)
    at = 0
    for i, n in enumerate(lengths):
        rows[i, :n] = targets[at : at + n]
        at += n
    return rows


def _check_ctc(log_probs: Any, targets: Any, inputs: list[int], ends: list[int], blank: int) -> None:
    steps, batch, classes = log_probs.shape
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if len(inputs) != batch:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(ends) != batch:
        raise RuntimeError("target_lengths must be of size batch_size")
    if log_probs.dtype not in WIDE:
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{_core.scalar_name(log_probs.dtype)}'")
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    for n in ends:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {n} {where}")
    if targets.dim() == 1 and targets.size(0) != sum(ends):
        raise RuntimeError(
            f"Expected tensor to have size {sum(ends)} at dimension 0, but got size {targets.size(0)} for argument #2 'targets' {where}"
        )
    if targets.dim() == 2 and max(ends, default=0) > targets.size(1):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(ends)} at dimension 1, but got size {targets.size(1)} for argument #2 "
            f"'targets' {where}"
        )
    for n in inputs:
        if n < 0:
            raise RuntimeError(f"Expected input_lengths to have value at least 0, but got value {n} {where}")
        if n > steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {n} {where}")


def _by_steps(lp: Any, labels: Any, input_ends: Any, label_ends: Any, blank: int) -> Any:
    """The losses of sequences in tensor operations, a step at a time; infinite where there is no way."""
    steps, batch, _ = lp.shape
    device, size = lp.device, labels.size(1)
    places = torch.full((batch, 2 * size + 1), blank, dtype=_core.int64, device=device)
    places[:, 1::2] = labels
    scores = lp.gather(2, places.unsqueeze(0).expand(steps, -1, -1))
    # From two places back one may come to a label that differs from the one before it.
    skip = torch.zeros(places.shape, dtype=_core.bool, device=device)
    if size > 1:
        skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    never = lp.new_full((batch, 1), _NEVER)
    start = torch.arange(places.size(1), device=device) < 2
    reachable = start & ((torch.arange(places.size(1), device=device) < 1) | (label_ends > 0).unsqueeze(1))
    alpha: Any = scores[0].masked_fill(~reachable, _NEVER) if steps else None
    for t in range(1, steps):
        one = torch.cat([never, alpha[:, :-1]], 1)
        two = torch.cat([never, never, alpha[:, :-2]], 1)[:, : places.size(1)].masked_fill(~skip, _NEVER)
        moved = torch.stack([alpha, one, two]).logsumexp(0) + scores[t]
        alpha = moved.where((t < input_ends).unsqueeze(1), alpha)
    last = alpha.gather(1, (2 * label_ends).unsqueeze(1)).squeeze(1)
    before = alpha.gather(1, (2 * label_ends - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
    before = before.masked_fill(label_ends == 0, _NEVER)
    loss = -torch.stack([last, before]).logsumexp(0)
    unheard = input_ends == 0  # no step: certain if there is no label either, else impossible
    loss = loss.masked_fill(unheard & (label_ends > 0), float("inf")).masked_fill(unheard & (label_ends == 0), -0.0)
    hopeless = loss > -_NEVER / 2
    loss = loss.masked_fill(hopeless, float("inf"))
    # PyTorch's gradient is that of log_softmax followed by this loss: e^log_probs less the true one, where a step counts.
    counted = (torch.arange(steps, device=device).unsqueeze(1) < input_ends).unsqueeze(2) & ~hopeless.unsqueeze(1)
    extra = (lp.detach().exp() * lp).masked_fill(~counted, 0).sum((0, 2))
    return loss + (extra - extra.detach())


def _alignment_grad(g0, log_probs, targets, input_lengths, target_lengths, blank, result0, result1):
    lengths = (input_lengths, target_lengths)
    found = shim.ctc_alignments_backward(g0.detach(), log_probs.detach(), targets, *lengths, result0, result1, blank)
    if not _core.is_grad_enabled():
        return found
    leaf = log_probs if log_probs.requires_grad else log_probs.detach().requires_grad_()
    again = gradients(_by_steps(leaf, targets, *lengths, blank), (leaf,), g0, True)[0]
    return found + (again - again.detach())  # the same numbers as without a history


def _ways(xp: Any, scores: Any, labels: Any) -> Any:
    """The logarithms of the chances of all ways to a state, of the scores (steps, states)."""
    found = xp.full(scores.shape, -xp.inf, scores.dtype)
    for t in range(len(scores)):
        for s in range(scores.shape[1]):
            if t == 0:
                found[t, s] = scores[t, s] if s < 2 else -xp.inf
                continue
            skips = s % 2 and s > 1 and labels[s // 2] != labels[s // 2 - 1]
            before = found[t - 1, max(s - 2 if skips else s - 1, 0) : s + 1]
            found[t, s] = scores[t, s] + xp.logaddexp.reduce(before)
    return found


def _scores(xp: Any, log_probs: Any, labels: Any, heard: Any, blank: int) -> Any:
    places = xp.full((2 * len(labels) + 1,), blank)
    places[1::2] = labels
    return log_probs[: int(heard), places], places


_SHIM: dict[str, Any] = {"function": False, "method": False}


@op(
    "shim::ctc_alignments(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)",
    shape=lambda log_probs, targets: [
        (log_probs.shape[1],),
        (log_probs.shape[1], log_probs.shape[0], 2 * targets.shape[1] + 1),
    ],
    dtype=lambda log_probs: (log_probs.dtype, [log_probs.dtype, log_probs.dtype]),
    keep=("targets", "input_lengths", "target_lengths"),
    native="ctc_alignments",
    differentiable=(0,),
    grad={"log_probs": _alignment_grad},
    **_SHIM,
)
def ctc_alignments(xp, log_probs, targets, input_lengths, target_lengths, blank):
    """Minus the logarithms of the chances of all alignments, infinite where there is none; and those of the ways to each state.

    Shapes:  log_probs (T, N, C), targets (N, S), lengths (N,) -> (N,), (N, T, 2 S + 1)
    """
    steps, batch, _ = log_probs.shape
    losses = xp.zeros((batch,), log_probs.dtype)
    alpha = xp.full((batch, steps, 2 * targets.shape[1] + 1), -xp.inf, log_probs.dtype)
    for n in range(batch):
        labels = targets[n, : int(target_lengths[n])]
        scores, _ = _scores(xp, log_probs[:, n], labels, input_lengths[n], blank)
        ways = _ways(xp, scores, labels)
        alpha[n, : len(ways), : ways.shape[1]] = ways
        losses[n] = -xp.logaddexp.reduce(ways[-1, -2:]) if len(ways) else (xp.inf if len(labels) else 0)
    return losses, alpha


@op(
    "shim::ctc_alignments_backward(Tensor grad_output, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor losses, Tensor alpha, int blank) -> Tensor",
    shape=lambda log_probs: log_probs.shape,
    dtype=lambda log_probs: log_probs.dtype,
    keep=("targets", "input_lengths", "target_lengths"),
    native="ctc_alignments_backward",
    **_SHIM,
)
def ctc_alignments_backward(xp, grad_output, log_probs, targets, input_lengths, target_lengths, losses, alpha, blank):
    """The gradient of ``ctc_alignments`` after log_softmax, as PyTorch's is: e^log_probs less the chance to be at a class then."""
    found = xp.zeros_like(log_probs)
    for n in range(log_probs.shape[1]):
        labels = targets[n, : int(target_lengths[n])]
        scores, places = _scores(xp, log_probs[:, n], labels, input_lengths[n], blank)
        if not bool(xp.isfinite(losses[n])):
            found[: len(scores), n] = (
                xp.nan if grad_output[n] != 0 else 0
            )  # where no way is asked for a slope, as PyTorch
            continue
        beta = _ways(xp, scores[::-1, ::-1], labels[::-1])[::-1, ::-1]
        chance = xp.exp(alpha[n, : len(scores), : len(places)] + beta - scores + losses[n])
        found[: len(scores), n] = xp.exp(log_probs[: len(scores), n])
        for s in range(len(places)):
            found[: len(scores), n, int(places[s])] -= chance[:, s]
        found[:, n] *= grad_output[n]
    return found


def _ctc(
    log_probs: Any,
    targets: Any,
    inputs: Any,
    ends: Any,
    blank: int,
    reduction: int,
    zero_infinity: bool,
    given: Any = (None, None),
) -> Any:
    log_probs = gradient_once(log_probs, "_ctc_loss_backward")
    single = log_probs.dim() == 2
    lp = log_probs.unsqueeze(1) if single else log_probs
    targets = targets.unsqueeze(0) if single and targets.dim() == 1 else targets
    inputs, ends = list(inputs), list(ends)
    _check_ctc(lp, targets, inputs, ends, blank)
    steps, batch, _ = lp.shape
    device = lp.device
    labels = _padded_targets(targets, ends, blank).to(device=device, dtype=_core.int64)
    input_ends, label_ends = (
        t
        if t is not None and t.dim() == 1 and t.dtype == _core.int64 and t.device == device
        else from_data.tensor(n, device=device)
        for t, n in zip(given, (inputs, ends), strict=True)
    )
    if not lp.is_meta and steps < 1 << 16:
        loss = shim.ctc_alignments(lp, labels.contiguous(), input_ends, label_ends, blank)[0]
    else:
        loss = _by_steps(lp, labels, input_ends, label_ends, blank)
    if zero_infinity:
        loss = loss.masked_fill(loss == float("inf"), 0.0)
    if single:
        loss = loss.squeeze(0)
    if reduction == 1:
        divisor = from_data.tensor([max(n, 1) for n in ends], dtype=loss.dtype, device=device)
        return (loss / (divisor.squeeze(0) if single else divisor)).mean()
    return loss if reduction == 0 else loss.sum()


@composite(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    autocast="float32_cpu",
    method=False,
    also="torch",
    refuses=(("bicl", "ctc_loss_cpu"),),
    forward_error_name="_ctc_loss",
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """Minus the log probability of all alignments: log_probs (T, N, C), targets (N, S) or all in one list."""
    return _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


@composite(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    autocast="float32_cpu",
    method=False,
    also="torch",
    refuses=(("bicl", "ctc_loss_cpu"),),
    forward_error_name="_ctc_loss",
)
def ctc_loss_tensors(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """``ctc_loss`` with lengths in integer tensors."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == _core.bool:
            raise RuntimeError(f"{name} must be integral")
    if log_probs.is_meta:
        raise no_meta_kernel("_ctc_loss.Tensor")
    inputs, ends = (t.reshape(-1).tolist() for t in (input_lengths, target_lengths))
    return _ctc(log_probs, targets, inputs, ends, blank, reduction, zero_infinity, (input_lengths, target_lengths))
