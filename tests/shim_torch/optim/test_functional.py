"""Optimizers as functions of lists; the values are PyTorch's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.optim import _functional

_BETAS = dict(beta1=0.9, beta2=0.99, lr=0.1, eps=1e-8)
# (function, what its state lists are filled with: a number, a text for one number, None for what is made; options, results)
CASES = [
    (
        "adam",
        [0.1, 0.2, 0.3],
        dict(**_BETAS, weight_decay=0.1, amsgrad=True, maximize=False),
        [
            -0.30854, -0.2215, -0.13447, -0.04743, 0.0396, 0.12664, -0.30781, -0.01454, 0.27872, 0.57199,
            0.86525, 1.15852, 0.01823, 0.09609, 0.17394, 0.25179, 0.32964, 0.4075, 0.01824, 0.06192, 0.10559,
            0.14927, 0.19294, 0.23662, 0.19819, 0.19615, 0.20078, 0.2121, 0.2301, 0.25479, 0.19819, 0.19622,
            0.19635, 0.19859, 0.20293, 0.20937, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3,
            4.0, 5.0,
        ],
    ),
    (
        "adamw",
        [0.1, 0.2, 0.3],
        dict(**_BETAS, weight_decay=0.1, amsgrad=False, maximize=True),
        [
            -0.32888, -0.21542, -0.10183, 0.01128, 0.12344, 0.23434, -0.32618, -0.02504, 0.27619, 0.57745,
            0.87867, 1.17978, 0.138, 0.062, -0.014, -0.09, -0.166, -0.242, 0.138, 0.1, 0.062, 0.024, -0.014,
            -0.052, 0.19781, 0.19622, 0.20099, 0.21214, 0.22965, 0.25353, 0.19781, 0.19622, 0.19622, 0.19781,
            0.20099, 0.20577, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 4.0, 5.0,
        ],
    ),
    (
        "sgd",
        [None],
        dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0, nesterov=True, maximize=False),
        [
            -0.14906, -0.23659, -0.32412, -0.41165, -0.49918, -0.58671, -0.14906, 0.04574, 0.24054, 0.43534,
            0.63014, 0.82494, -0.62073, 0.15048, 0.92169, 1.6929, 2.46411, 3.23532, -0.62073, -0.1881,
            0.24453, 0.67716, 1.10979, 1.54242,
        ],
    ),
    (
        "sgd",
        [0.5],
        dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.2, nesterov=False, maximize=False, foreach=True),
        [
            -0.30879, -0.30365, -0.29851, -0.29336, -0.28822, -0.28308, -0.30879, -0.062, 0.18478, 0.43157,
            0.67836, 0.92514, -0.09809, 0.52249, 1.14306, 1.76364, 2.38422, 3.00479, -0.09809, 0.25004,
            0.59817, 0.9463, 1.29442, 1.64255,
        ],
    ),
    (
        "adadelta",
        [0.1, 0.2],
        dict(lr=0.5, rho=0.9, eps=1e-6, weight_decay=0.1, maximize=False),
        [
            0.14986, -0.31445, -0.73125, -0.9556, -1.03052, -1.026, 0.14986, 0.14281, 0.11496, 0.11379,
            0.17159, 0.29336, 0.10021, 0.08212, 0.12354, 0.22638, 0.39238, 0.62218, 0.10021, 0.08276, 0.08397,
            0.10388, 0.14287, 0.20139, 0.20036, 0.16448, 0.23755, 0.33522, 0.40454, 0.44731, 0.20036, 0.16587,
            0.16849, 0.20681, 0.26261, 0.31791, 4.0, 5.0,
        ],
    ),
    (
        "adagrad",
        [0.1],
        dict(lr=0.5, lr_decay=0.1, eps=1e-6, weight_decay=0.1, maximize=False),
        [
            0.21185, -0.38265, -0.68668, -0.65075, -0.56876, -0.47617, 0.17469, 0.20795, 0.03957, 0.10801,
            0.33279, 0.60338, 0.29885, 0.11127, 0.54712, 1.65079, 3.42772, 5.87751, 0.30024, 0.11782, 0.13021,
            0.33923, 0.75735, 1.38724, 4.0, 5.0,
        ],
    ),
    (
        "adamax",
        [0.1, 0.2],
        dict(**_BETAS, weight_decay=0.1),
        [
            -0.37901, -0.52263, -0.30841, -0.15565, -0.03569, 0.07472, -0.3632, -0.19326, 0.01894, 0.39656,
            0.74614, 1.06814, 0.01766, 0.09437, 0.17305, 0.25126, 0.32928, 0.40724, 0.0178, 0.06083, 0.10419,
            0.14838, 0.19237, 0.23619, 0.33637, 0.19602, 0.4851, 0.89262, 1.30377, 1.71438, 0.33502, 0.19602,
            0.19602, 0.3564, 0.5841, 0.8139, 4.0, 5.0,
        ],
    ),
    (
        "asgd",
        [0.1, "1.0", "0.05"],
        dict(lambd=1e-2, lr=0.1, t0=1.0, alpha=0.75, weight_decay=0.1),
        [
            -0.25031, -0.21164, -0.17297, -0.1343, -0.09564, -0.05697, -0.25033, 0.01492, 0.28016, 0.54541,
            0.81066, 1.07591, -0.26683, -0.20777, -0.14871, -0.08965, -0.03059, 0.02847, -0.27234, 0.00831,
            0.28895, 0.5696, 0.85025, 1.1309, 0.33333, 0.25, 0.0997, 0.09963, 4.0, 5.0,
        ],
    ),
    (
        "nadam",
        [0.1, 0.2, "0.9"],
        dict(**_BETAS, weight_decay=0.1, momentum_decay=4e-3),
        [
            -0.27997, -0.20946, -0.1387, -0.06665, 0.00748, 0.08417, -0.27728, 0.00399, 0.28518, 0.56651,
            0.8482, 1.13042, 0.01841, 0.09615, 0.1739, 0.25165, 0.3294, 0.40717, 0.01842, 0.06202, 0.10562,
            0.14922, 0.19282, 0.23643, 0.19818, 0.19615, 0.20078, 0.21208, 0.23004, 0.25468, 0.19818, 0.19622,
            0.19635, 0.19859, 0.20291, 0.20934, 0.18246, 0.18252, 4.0, 5.0,
        ],
    ),
    (
        "radam",
        [0.1, 0.2],
        dict(**_BETAS, weight_decay=0.1),
        [
            -0.32629, -0.26403, -0.20177, -0.1395, -0.07724, -0.01498, -0.321, -0.03835, 0.24431, 0.52697,
            0.80963, 1.09228, 0.01809, 0.09584, 0.17359, 0.25134, 0.32908, 0.40683, 0.01813, 0.06177, 0.1054,
            0.14903, 0.19267, 0.2363, 0.1982, 0.19614, 0.20075, 0.21202, 0.22996, 0.25456, 0.1982, 0.19622,
            0.19635, 0.19857, 0.2029, 0.20932, 4.0, 5.0,
        ],
    ),
    (
        "rmsprop",
        [0.1, 0.2, 0.3],
        dict(lr=0.1, alpha=0.9, eps=1e-8, weight_decay=0.1, momentum=0.5, centered=False),
        [
            -0.06568, -0.28882, -0.4742, -0.53147, -0.50952, -0.45035, -0.06568, 0.06133, 0.17026, 0.3019,
            0.47684, 0.69118, 0.10111, 0.08215, 0.12508, 0.23077, 0.40003, 0.63314, 0.10111, 0.08286, 0.08406,
            0.10472, 0.14502, 0.20517, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, -1.45431,
            0.47247, 2.14083, 2.9883, 3.38395, 3.58444, -1.45431, -0.43183, 0.71805, 1.70911, 2.41151,
            2.87033, 4.0, 5.0,
        ],
    ),
    (
        "rprop",
        [0.1, 0.2],
        dict(step_size_min=1e-6, step_size_max=50, etaminus=0.5, etaplus=1.2),
        [
            -0.2, -0.728, -0.628, -0.528, -0.428, -0.328, -0.2, 0.1, -0.228, 0.072, 0.372, 0.672, -0.3, 0.1,
            0.5, 0.9, 1.3, 1.7, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.1, 0.288, 0.288, 0.288, 0.288, 0.288, 0.1,
            0.1, 0.288, 0.288, 0.288, 0.288, 4.0, 5.0,
        ],
    ),
]  # fmt: skip


def _data(i):
    return torch.arange(6.0).reshape(2, 3).mul(0.1 * (i + 1)).sub(0.3)


def _state(like, value):
    if value is None:
        return None
    return torch.tensor(float(value)) if isinstance(value, str) else torch.full_like(like, value)


def _flat(values):
    return [y for x in values for y in (x.flatten().tolist())]


@pytest.mark.parametrize(("name", "states", "options", "expected"), CASES)
def test_two_steps(name, states, options, expected):
    function = getattr(getattr(torch.optim, name), name)
    assert function is getattr(_functional, name)
    params, grads = [_data(0), _data(2)], [_data(3), _data(1)]
    before = _flat(grads)
    lists = [[_state(p, value) for p in params] for value in states]
    steps = [] if name == "sgd" else [[torch.tensor(2.0), torch.tensor(3.0)]]
    for _ in range(2):
        function(params, grads, *lists, *steps, **options)
    assert _flat([*params, *(x for group in (*lists, *steps) for x in group)]) == pytest.approx(expected, abs=2e-5)
    assert _flat(grads) == before


def test_sparse_adam():
    p, mean, square = torch.ones(3, 2), torch.zeros(3, 2), torch.zeros(3, 2)
    g = torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 2), (3, 2))
    _functional.sparse_adam([p], [g], [mean], [square], [1], eps=1e-8, beta1=0.9, beta2=0.99, lr=0.1, maximize=False)
    assert _flat([p]) == pytest.approx([0.9, 0.9, 1.0, 1.0, 0.9, 0.9])
    assert _flat([mean]) == pytest.approx([0.1, 0.1, 0, 0, 0.1, 0.1])


def test_loss_scale_and_overflow():
    options = dict(**_BETAS, weight_decay=0.0, amsgrad=False, maximize=False)
    made = []
    for g, extra in [(torch.ones(2), {}), (4 * torch.ones(2), {"grad_scale": torch.tensor(4.0), "fused": True})]:
        p = [torch.ones(2)]
        _functional.adam(p, [g], [torch.zeros(2)], [torch.zeros(2)], [], [torch.tensor(0.0)], **extra, **options)
        made.append(p[0])
    assert torch.allclose(*made)
    p, step = [torch.ones(2)], [torch.tensor(0.0)]
    infinite = torch.tensor(1.0)
    _functional.adam(p, [g], [torch.zeros(2)], [torch.zeros(2)], [], step, found_inf=infinite, **options)
    assert p[0].tolist() == [1.0, 1.0] and step[0] == 0


def test_steps_are_tensors():
    with pytest.raises(RuntimeError, match="`state_steps` argument must contain a list of singleton tensors"):
        _functional.adam([], [], [], [], [], [1], amsgrad=False, maximize=False, weight_decay=0, **_BETAS)
