#!/usr/bin/env python3
"""The GPT of chapter 05 in PyTorch, timed: GPT-2 style, tied head, tanh GELU, no dropout, AdamW with the same decay
groups and clipping, in float32 or under bfloat16 autocast. On the CPU as one process, or DDP over Gloo when WORLD_SIZE is
set; with --device cuda on one GPU as PyTorch is fastest there: torch.compile, scaled_dot_product_attention, fused AdamW.

--fast takes on the CPU too what PyTorch 2 has fused there: attention and AdamW.

Prints one CSV row: system,model,world_size,threads,median_ms_per_step,tokens_per_second,peak_mib_per_rank; the memory is
the process's on the CPU, and what tensors took at most on a GPU. --say-start adds a field: when the first step began, in
seconds of the monotonic clock, which all processes of a machine share.
"""
import argparse
import math
import os
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

# vocabulary, width, heads, layers, context, global batch
CONFIGS = {
    "tiny": (256, 128, 4, 4, 128, 16),
    "small": (8192, 256, 8, 6, 256, 8),
    "tutorial": (50257, 512, 8, 6, 127, 32),
    "124m": (50257, 768, 12, 12, 1024, 8),
}


def gelu(x):
    return F.gelu(x, approximate="tanh")


class Attention(nn.Module):
    is_fused = False  # for all of them: --fast

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        # Not a buffer: DDP over Gloo in torch 1.13 cannot broadcast bool.
        self.mask = torch.ones(context, context, dtype=torch.bool).triu(1)

    def forward(self, x):
        batch, time_steps, width = x.shape
        q, k, v = (t.view(batch, time_steps, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        if x.is_cuda or self.is_fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, time_steps, width))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // self.heads)
        weights = F.softmax(scores.masked_fill(self.mask[:time_steps, :time_steps], float("-inf")), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, time_steps, width))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(gelu(self.fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, context):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, inputs, targets):
        x = self.wte(inputs) + self.wpe(torch.arange(inputs.shape[1], device=inputs.device))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="tiny", choices=CONFIGS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--batch-size", type=int, help="of all ranks together")
    parser.add_argument("--vocabulary", type=int, help="in place of the model's own")
    parser.add_argument("--no-compile", action="store_true", help="on a GPU: without torch.compile")
    parser.add_argument("--fast", action="store_true", help="fused attention and AdamW on the CPU, where PyTorch has them")
    parser.add_argument("--say-start", action="store_true", help="add a field: when the first step began")
    parser.add_argument("--bf16", action="store_true", help="forward under torch.autocast")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    vocabulary, width, heads, layers, context, batch = CONFIGS[arguments.model]
    batch, vocabulary = arguments.batch_size or batch, arguments.vocabulary or vocabulary
    is_cuda = arguments.device == "cuda"
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    Attention.is_fused = arguments.fast and version >= (2, 0)
    is_adamw_fused = is_cuda or (arguments.fast and version >= (2, 4))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    if world_size > 1:
        torch.distributed.init_process_group("gloo")
    torch.manual_seed(1)
    model = Gpt(vocabulary, width, heads, layers, context).to(arguments.device)
    is_compiled = is_cuda and not arguments.no_compile
    network = nn.parallel.DistributedDataParallel(model) if world_size > 1 else torch.compile(model) if is_compiled else model
    decay = [p for p in network.parameters() if p.dim() >= 2]
    rest = [p for p in network.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3, betas=(0.9, 0.95),
        **({"fused": True} if is_adamw_fused else {}),
    )
    generator = torch.Generator().manual_seed(1234 + rank)
    shape = (batch // world_size, context + 1)
    batches = [torch.randint(0, vocabulary if is_cuda else min(vocabulary, 256), shape, generator=generator).to(arguments.device) for _ in range(8)]
    times = []
    start = time.monotonic()
    for step in range(arguments.steps):
        tokens = batches[step % len(batches)]
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(arguments.device, dtype=torch.bfloat16, enabled=arguments.bf16):
            loss = network(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        loss.item()  # waits for a GPU
        if step >= arguments.warm_up:
            times.append((time.perf_counter() - begin) * 1e3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if is_cuda:
        peak = torch.cuda.max_memory_allocated() / 2**20
    median = statistics.median(times)
    if rank == 0:
        print(
            f"PyTorch {torch.__version__},{arguments.model},{world_size},{arguments.threads},"
            f"{median:.2f},{batch * context / median * 1e3:.0f},{peak:.0f}" + (f",{start:.3f}" if arguments.say_start else ""),
            flush=True,
        )
    if world_size > 1:
        torch.distributed.destroy_process_group()


main()
