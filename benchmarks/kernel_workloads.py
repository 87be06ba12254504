"""Programs whose CUDA kernels the pack holds: ``python kernel_workloads.py NAME [dtype]`` runs one, on our torch or on PyTorch.

``record_kernels.py`` records what each asks for; ``cold_start.py`` times their first steps. A workload that needs a package
that is not installed exits with 3. Every tensor is random: what is asked for depends on shapes and dtypes alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

SKIPPED = 3
DTYPES = ("float32", "bfloat16", "float16")
torch: Any = None
F: Any = None


def enable(ours: bool) -> None:
    """Binds ``torch``, for this module and for the libraries, to ours or to PyTorch."""
    global torch, F
    if ours:
        from compat import enable_torch_proxy

        names = "kernel_workloads transformers accelerate safetensors liger_kernel triton __main__"
        enable_torch_proxy(scope=set(names.split()))
    import torch as found

    torch, F = found, found.nn.functional


def needs(*packages: str) -> None:
    """Ends the process where one is absent."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed", file=sys.stderr)
            raise SystemExit(SKIPPED)


def llama_model(dtype: Any, **options: Any) -> Any:
    """A Llama of transformers with two layers and grouped queries."""
    needs("transformers")
    from transformers import LlamaConfig, LlamaForCausalLM

    heads = {"num_attention_heads": 8, "num_key_value_heads": 4}
    sizes = {"hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 2, "vocab_size": 4096}
    config = LlamaConfig(max_position_embeddings=1024, **sizes, **heads, **options)
    return LlamaForCausalLM(config).to("cuda", dtype)


def llama_train(dtype: Any) -> None:
    """Three steps with AdamW, the second with clipped gradients, the third with autocast."""
    model = llama_model(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    for step in range(3):
        ids = torch.randint(0, 4096, (2, 128), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=step == 2 and dtype == torch.float32):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        if step == 1:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()


def llama_first_step(dtype: Any) -> None:
    """One step as a script would take it first; what cold_start.py times."""
    model = llama_model(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, 4096, (2, 128), device="cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    loss.item()


def llama_generate(dtype: Any) -> None:
    """Greedy and sampled tokens, a batch with padding, beams, and one query of so many keys that attention shares them out."""
    model, wide = (llama_model(dtype, head_dim=size).eval() for size in (64, 128))
    ids, long = torch.randint(3, 4096, (2, 16), device="cuda"), torch.randint(3, 4096, (1, 800), device="cuda")
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    same = {"max_new_tokens": 6, "pad_token_id": 0, "eos_token_id": 2}
    model.generate(ids, do_sample=False, **same)
    model.generate(ids, attention_mask=mask, do_sample=False, **same)
    model.generate(ids, do_sample=True, temperature=0.7, top_k=50, top_p=0.9, **same)
    model.generate(ids, num_beams=2, do_sample=False, **same)
    for each in (model, wide):
        each.generate(long, do_sample=False, **same)


def basic_block(inside: int, outside: int, stride: int) -> Any:
    """Two convolutions of a residual block, and the way beside them."""
    nn = torch.nn
    main = nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
        nn.Conv2d(outside, outside, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outside),
    )
    beside = nn.Identity()
    if stride != 1 or inside != outside:
        beside = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
    return nn.ModuleDict({"main": main, "beside": beside})


def resnet_logits(blocks: Any, stem: Any, head: Any, x: Any) -> Any:
    """A forward pass of ``resnet18``'s parts."""
    x = stem(x)
    for block in blocks:
        x = F.relu(block["main"](x) + block["beside"](x), inplace=True)
    return head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def resnet18(dtype: Any) -> None:
    """ResNet-18: inference of 1 and 10 images, and training with momentum; contiguous and channels last."""
    nn = torch.nn
    stem = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
    )
    halved = [w for n in (64, 128, 256) for w in ((n, 2 * n, 2), (2 * n, 2 * n, 1))]
    widths = [(64, 64, 1), (64, 64, 1), *halved]
    blocks = nn.ModuleList([basic_block(*w) for w in widths])
    head = nn.Linear(512, 1000)
    model = nn.ModuleList([stem, blocks, head]).to("cuda", dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for layout in (torch.contiguous_format, torch.channels_last):
        model.eval()
        with torch.no_grad():
            for batch in (1, 10):
                x = torch.randn(batch, 3, 64, 64, device="cuda", dtype=dtype).contiguous(memory_format=layout)
                resnet_logits(blocks, stem, head, x).softmax(-1).argmax(-1).tolist()
        model.train()
        for _ in range(2):
            x = torch.randn(10, 3, 64, 64, device="cuda", dtype=dtype).contiguous(memory_format=layout)
            target = torch.randint(0, 1000, (10,), device="cuda")
            loss = F.cross_entropy(resnet_logits(blocks, stem, head, x), target, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss.item()


class GptBlock:
    """Parameters of one block of nanoGPT's kind, and its forward pass."""

    def __init__(self, width: int, dtype: Any) -> None:
        nn = torch.nn
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.ModuleList([nn.Linear(width, 3 * width), nn.Linear(width, width)])
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.module = nn.ModuleList([self.norms, self.attention, self.mlp]).to("cuda", dtype)

    def __call__(self, x: Any) -> Any:
        b, t, c = x.shape
        q, k, v = self.attention[0](self.norms[0](x)).split(c, dim=2)
        q, k, v = (part.view(b, t, 4, c // 4).transpose(1, 2) for part in (q, k, v))
        dropped = 0.1 if self.module.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropped)
        y = y.transpose(1, 2).contiguous().view(b, t, c)
        x = x + F.dropout(self.attention[1](y), 0.1, self.module.training)
        return x + self.mlp(self.norms[1](x))


def nanogpt(dtype: Any) -> None:
    """A small GPT: training with fused AdamW, gradient scaling in float16, and sampling."""
    nn = torch.nn
    tokens, places = (nn.Embedding(n, 256).to("cuda", dtype) for n in (512, 64))
    blocks = [GptBlock(256, dtype) for _ in range(2)]
    last = nn.LayerNorm(256).to("cuda", dtype)
    head = nn.Linear(256, 512, bias=False).to("cuda", dtype)
    head.weight = tokens.weight
    whole = nn.ModuleList([tokens, places, last, head, *(b.module for b in blocks)])

    def logits(ids: Any) -> Any:
        x = tokens(ids) + places(torch.arange(ids.size(1), device="cuda"))
        x = F.dropout(x, 0.1, whole.training)
        for block in blocks:
            x = block(x)
        return head(last(x))

    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float32)
    for fused in (False, True):
        optimizer = torch.optim.AdamW(whole.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=fused)
        for _ in range(2):
            ids = torch.randint(0, 512, (4, 65), device="cuda")
            with torch.autocast("cuda", torch.float16 if fused else torch.bfloat16, enabled=dtype == torch.float32):
                loss = F.cross_entropy(logits(ids[:, :-1]).view(-1, 512), ids[:, 1:].reshape(-1), ignore_index=-1)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(whole.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
    whole.eval()
    ids = torch.zeros(1, 1, dtype=torch.long, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            scores = logits(ids)[:, -1, :] / 0.8
            least, _ = torch.topk(scores, 20)
            scores[scores < least[:, [-1]]] = -float("inf")
            ids = torch.cat((ids, torch.multinomial(F.softmax(scores, dim=-1), num_samples=1)), dim=1)
    ids.tolist()


def liger(dtype: Any) -> None:
    """Liger's functions, forward and backward, with what programs do around them."""
    needs("liger_kernel", "triton")
    from liger_kernel.transformers import functional as liger_functional

    def leaf(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()

    x, weight, other = leaf(128, 256), leaf(256), leaf(128, 256)
    target = torch.randint(0, 256, (128,), device="cuda")
    q, k = leaf(2, 4, 64, 64), leaf(2, 2, 64, 64)
    cos, sin = (torch.randn(1, 64, 64, device="cuda").to(dtype) for _ in range(2))
    outputs = (
        lambda: liger_functional.liger_rms_norm(x, weight, 1e-6),
        lambda: liger_functional.liger_layer_norm(x, weight, leaf(256), 1e-6),
        lambda: liger_functional.liger_swiglu(x, other),
        lambda: liger_functional.liger_geglu(x, other),
        lambda: liger_functional.liger_cross_entropy(x, target),
        lambda: liger_functional.liger_fused_linear_cross_entropy(x, leaf(512, 256), target),
        lambda: sum(part.float().sum() for part in liger_functional.liger_rope(q, k, cos, sin)),
        lambda: liger_functional.liger_kl_div(x.log_softmax(-1), other.softmax(-1)),
        lambda: liger_functional.liger_jsd(x.log_softmax(-1), other.log_softmax(-1)),
    )
    for make in outputs:
        y = make()
        y = y[0] if isinstance(y, tuple) else y
        y.float().sum().backward() if y.dim() else y.backward()
    x.grad.float().norm().item()


def liger_first(dtype: Any) -> None:
    """One RMS norm and its gradient; what cold_start.py times."""
    needs("liger_kernel", "triton")
    from liger_kernel.transformers import functional as liger_functional

    x = torch.randn(512, 1024, device="cuda").to(dtype).requires_grad_()
    weight = torch.ones(1024, device="cuda", dtype=dtype).requires_grad_()
    liger_functional.liger_rms_norm(x, weight, 1e-6).sum().backward()
    x.grad.float().norm().item()


def demo(dtype: Any) -> None:
    """examples/train.py on a GPU: a small network that learns, with nothing but torch."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to("cuda", dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, labels = torch.randn(64, 8, device="cuda").to(dtype), torch.randint(0, 4, (64,), device="cuda")
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()


def short(dtype: Any) -> None:
    """benchmarks/gpu_short.py: every family of our kernels."""
    if dtype != torch.float32:  # it has its own
        raise SystemExit(SKIPPED)
    needs("triton")
    import gpu_short

    gpu_short.main()


def collectives(dtype: Any) -> None:
    """Small collectives and large gradients of two ranks."""
    importlib.import_module("kernel_workloads_ranks").two_ranks(torch, dtype, SKIPPED)


_ALL = llama_train, llama_first_step, llama_generate, resnet18, nanogpt, liger, liger_first, demo, short, collectives
WORKLOADS: dict[str, Callable[[Any], None]] = {f.__name__: f for f in _ALL}


def main(name: str, dtype: str = "float32", library: str = "ours") -> None:
    """Runs one workload; ``library``: ``ours`` or ``pytorch``."""
    enable(library == "ours")
    torch.manual_seed(0)
    WORKLOADS[name](getattr(torch, dtype))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(*sys.argv[1:])
