"""Two steps of the fused optimizers: parameters, gradients and states after them."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    aten, shapes = torch.ops.aten, ((2, 3), (4,))

    def lists(count, seed=0):
        return [
            [pattern(torch, *s, seed=seed + i) if seed else torch.zeros(s) for i, s in enumerate(shapes)]
            for _ in range(count)
        ]

    def steps(name, states, *numbers, before=(), **settings):
        """The lists after two steps; ``numbers`` follow the states, ``before`` stands beside the count of steps."""
        (p,), (g,), made = lists(1, seed=3), lists(1, seed=7), lists(states)
        for step in (1.0, 2.0):
            counts = [[torch.tensor(step) for _ in shapes]] if "sgd" not in name else []
            getattr(aten, name)(p, g, *made, *before, *counts, **settings, **numbers[0] if numbers else {})
        return p, g, made

    adam = {
        "lr": 0.1,
        "beta1": 0.8,
        "beta2": 0.9,
        "weight_decay": 0.1,
        "eps": 1e-6,
        "amsgrad": False,
        "maximize": False,
    }
    sgd = {
        "weight_decay": 0.1,
        "momentum": 0.9,
        "lr": 0.1,
        "dampening": 0.0,
        "nesterov": False,
        "maximize": False,
        "is_first_step": False,
    }
    adagrad = {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "eps": 1e-6, "maximize": False}
    one, two, none = torch.ones(1), torch.full((1,), 2.0), torch.zeros(1)
    return {**locals(), "torch": torch}


CASES = """
steps('_fused_adam_', 2, adam, before=([],))
steps('_fused_adam_', 3, {**adam, 'amsgrad': True})
steps('_fused_adam_', 2, {**adam, 'maximize': True}, before=([],))
steps('_fused_adam_', 2, {**adam, 'lr': torch.tensor(0.1)}, before=([],))
steps('_fused_adam_', 2, adam, before=([],), grad_scale=two, found_inf=none)
steps('_fused_adam_', 2, adam, before=([],), grad_scale=two, found_inf=one)
steps('_fused_adam_', 3, adam)
steps('_fused_adamw_', 2, adam, before=([],))
steps('_fused_adamw_', 3, {**adam, 'amsgrad': True, 'maximize': True})
steps('_fused_sgd_', 1, sgd)
steps('_fused_sgd_', 1, {**sgd, 'is_first_step': True})
steps('_fused_sgd_', 1, {**sgd, 'nesterov': True, 'maximize': True})
steps('_fused_sgd_', 1, {**sgd, 'dampening': 0.3, 'lr': torch.tensor(0.1)})
steps('_fused_sgd_', 1, sgd, grad_scale=two, found_inf=none)
steps('_fused_sgd_', 1, sgd, grad_scale=two, found_inf=one)
steps('_fused_adagrad_', 1, adagrad)
steps('_fused_adagrad_', 1, {**adagrad, 'maximize': True})
steps('_fused_adagrad_', 1, adagrad, grad_scale=two, found_inf=none)
""".strip().splitlines()
