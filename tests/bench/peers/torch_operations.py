#!/usr/bin/env python3
"""The operations of device_bench in PyTorch: same shapes (GPT-2 124M, 8 samples), bfloat16, random inputs, other data in
the cache before each call, medians of 15 times between two events. One JSON object a line, as device_bench prints.

Where PyTorch fuses what we keep apart, or the other way round, the name says so: attention is flash attention's kernel
(scaled_dot_product_attention), AdamW and the norm go over one tensor of all parameters.
"""
import argparse
import json
import statistics

import torch
import torch.nn.functional as F

B, T, C, H, V, L = 8, 1024, 768, 12, 50304, 12
R = B * T
P = (V + T) * C + L * (12 * C * C + 13 * C) + 2 * C
WARM_UPS, ROUNDS = 3, 15
HALF = torch.bfloat16


def random(*shape, dtype=HALF):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def measure(call):
    others = torch.randn(1 << 26, device="cuda")  # 256 MiB: several times any cache
    times = []
    for round_number in range(-WARM_UPS, ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        others.mul_(1.0)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if round_number >= 0:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def linear_layers():
    for name, inputs, outputs in (("qkv", C, 3 * C), ("projection", C, C), ("fc", C, 4 * C), ("fc_projection", 4 * C, C)):
        x, dy, w, bias = random(R, inputs), random(R, outputs), random(outputs, inputs), random(outputs)
        yield f"{name}_forward", lambda x=x, w=w, bias=bias: F.linear(x, w, bias)
        yield f"{name}_input_gradient", lambda dy=dy, w=w: dy @ w
        yield f"{name}_weight_gradient", lambda dy=dy, x=x: dy.t() @ x
        yield f"{name}_bias_gradient", lambda dy=dy: dy.sum(0)


def head():
    x, w, dy = random(R, C), random(V, C), random(R, V)
    targets = torch.randint(0, V, (R,), device="cuda")
    yield "head_forward", lambda: x @ w.t()
    yield "head_input_gradient", lambda: dy @ w
    yield "head_weight_gradient", lambda: dy.t() @ x

    @torch.compile
    def loss_and_gradient(logits, targets):
        probabilities = torch.softmax(logits.float(), 1)
        loss = -torch.log(probabilities.gather(1, targets[:, None]))
        return loss, (probabilities.scatter_add(1, targets[:, None], -torch.ones_like(loss)) / R).to(HALF)

    yield "softmax_cross_entropy", lambda: loss_and_gradient(dy, targets)


def backward_of(out, gradient, *inputs):
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


def attention_and_norms():
    q, k, v = (random(B, H, T, C // H).requires_grad_() for _ in range(3))
    dy = random(B, H, T, C // H)
    with torch.no_grad():
        yield "attention_forward", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    yield "attention_backward", backward_of(F.scaled_dot_product_attention(q, k, v, is_causal=True), dy, q, k, v)
    x, weight, bias, dx = random(R, C).requires_grad_(), *(random(C).requires_grad_() for _ in range(2)), random(R, C)
    yield "layer_norm_forward", lambda: F.layer_norm(x.detach(), (C,), weight.detach(), bias.detach())
    yield "layer_norm_backward", backward_of(F.layer_norm(x, (C,), weight, bias), dx, x, weight, bias)


def elementwise():
    x, dy = random(R, 4 * C).requires_grad_(), random(R, 4 * C)
    yield "gelu_forward", lambda: F.gelu(x.detach(), approximate="tanh")
    yield "gelu_backward", backward_of(F.gelu(x, approximate="tanh"), dy, x)
    table, tokens = random(V, C, dtype=torch.float32).requires_grad_(), torch.randint(0, V, (B, T), device="cuda")
    yield "embedding_token_gradient", backward_of(F.embedding(tokens, table), random(B, T, C, dtype=torch.float32), table)


def updates():
    parameter = random(P, dtype=torch.float32).requires_grad_()
    parameter.grad = random(P, dtype=torch.float32)
    optimizer = torch.optim.AdamW([parameter], lr=1e-9, fused=True)
    yield "adam_step", optimizer.step
    yield "squared_norm", lambda: torch.linalg.vector_norm(parameter.grad)
    yield "cast_of_weights", lambda: parameter.detach().to(HALF)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="one operation, by its name")
    only = parser.parse_args().only
    for group in (linear_layers, head, attention_and_norms, elementwise, updates):
        for name, call in group():
            if only in (None, name):
                print(json.dumps({"operation": name, "system": f"PyTorch {torch.__version__}", "ms": measure(call)}), flush=True)


main()
