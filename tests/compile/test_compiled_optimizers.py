"""The step of an optimizer within a compiled function."""

import shim_torch as torch


def test_a_compiled_step_is_one_operator():
    def trained(compiled):
        torch.manual_seed(0)
        params = [torch.randn(4, 4).requires_grad_() for _ in range(5)]
        optimizer = torch.optim.AdamW(params, lr=0.1)

        def step(x):
            loss = sum((p @ x).square().mean() for p in params)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        run = torch.compile(step) if compiled else step
        for i in range(8):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + i)
            run(torch.randn(4, 4))
        return run, [v for p in params for v in (p, *optimizer.state[p].values())]

    (_, eager), (run, compiled) = trained(False), trained(True)
    for a, b in zip(eager, compiled, strict=True):
        torch.testing.assert_close(b, a)
    programs = run._shim_compiled.source.split("def program")
    assert any(p.count("adam_step") == 1 and "aten.mm" in p for p in programs)
    assert not any("addcdiv" in p for p in programs)
