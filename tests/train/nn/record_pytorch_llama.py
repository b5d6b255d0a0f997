#!/usr/bin/env python3
"""Records a small LLaMA in PyTorch, float64: pytorch_llama.json, read by llama_test.cpp.

Loss, logits and gradients of the initial parameters, and the loss of each of 20 steps of AdamW. The model is written out
here with torch.nn.functional, with Hugging Face's names, layout and rotary positions.
Needs torch (Debian: python3-torch) and is run by hand: python3 tests/train/nn/record_pytorch_llama.py
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

V, C, H, HIDDEN, LAYERS, T, B = 13, 16, 2, 24, 2, 6, 3
D = C // H
STEPS = 20


def shapes():
    all_shapes = {"model.embed_tokens.weight": (V, C)}
    for layer in range(LAYERS):
        all_shapes.update({f"model.layers.{layer}.{name}.weight": shape for name, shape in {
            "input_layernorm": (C,),
            "self_attn.q_proj": (C, C), "self_attn.k_proj": (C, C), "self_attn.v_proj": (C, C),
            "self_attn.o_proj": (C, C),
            "post_attention_layernorm": (C,),
            "mlp.gate_proj": (HIDDEN, C), "mlp.up_proj": (HIDDEN, C), "mlp.down_proj": (C, HIDDEN),
        }.items()})
    all_shapes.update({"model.norm.weight": (C,), "lm_head.weight": (V, C)})
    return all_shapes


def make_parameters():
    """Values are a formula of (parameter number, element), so that the test sets the same ones."""
    parameters = {}
    for number, (name, shape) in enumerate(shapes().items()):
        values = [0.5 * math.sin(1.0 + 0.7 * number + 1.3 * i) for i in range(math.prod(shape))]
        parameters[name] = torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()
    return parameters


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def rotate(x):
    """x is [B, H, T, D]."""
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, D, 2, dtype=torch.float64) / D))
    angles = torch.outer(torch.arange(T, dtype=torch.float64), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    turned = torch.cat((-x[..., D // 2:], x[..., :D // 2]), dim=-1)
    return x * angles.cos() + turned * angles.sin()


def logits_of(p, tokens):
    x = p["model.embed_tokens.weight"][tokens]
    mask = torch.full((T, T), float("-inf"), dtype=torch.float64).triu(1)
    for layer in range(LAYERS):
        w = {name.split(".", 3)[3][:-len(".weight")]: value for name, value in p.items()
             if name.startswith(f"model.layers.{layer}.")}
        norm = rms_norm(x, w["input_layernorm"])
        q, k, v = (F.linear(norm, w[f"self_attn.{part}_proj"]).view(B, T, H, D).transpose(1, 2) for part in "qkv")
        scores = rotate(q) @ rotate(k).transpose(-2, -1) / math.sqrt(D) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + F.linear(mixed, w["self_attn.o_proj"])
        norm = rms_norm(x, w["post_attention_layernorm"])
        wide = F.silu(F.linear(norm, w["mlp.gate_proj"])) * F.linear(norm, w["mlp.up_proj"])
        x = x + F.linear(wide, w["mlp.down_proj"])
    return F.linear(rms_norm(x, p["model.norm.weight"]), p["lm_head.weight"])


def loss_of(p, tokens, targets):
    return F.cross_entropy(logits_of(p, tokens).view(-1, V), targets.view(-1))


def rounded(value):
    """Ten significant digits: what the tests compare."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def train(p, tokens, targets):
    """Three groups: matrices decay, norms do not, the embedding learns at half the rate."""
    def is_embedding(name):
        return "embed_tokens" in name
    matrices = [v for n, v in p.items() if v.dim() == 2 and not is_embedding(n)]
    norms = [v for v in p.values() if v.dim() == 1]
    embedding = [v for n, v in p.items() if is_embedding(n)]
    rate = 1e-2
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": norms, "weight_decay": 0.0},
                                   {"params": embedding, "weight_decay": 0.1, "lr": rate / 2}], lr=rate, eps=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(p, tokens, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    tokens = torch.tensor([(3 * i * i + i) % V for i in range(B * T)]).view(B, T)
    targets = torch.tensor([(5 * i + 2) % V for i in range(B * T)]).view(B, T)
    p = make_parameters()
    loss = loss_of(p, tokens, targets)
    loss.backward()
    values = {
        "pytorch": torch.__version__,
        "loss": loss.item(),
        "logits": logits_of(p, tokens).flatten().tolist(),
        "gradients": {name: v.grad.flatten().tolist() for name, v in p.items()},
        "losses": train(make_parameters(), tokens, targets),
    }
    path = pathlib.Path(__file__).with_name("pytorch_llama.json")
    path.write_text(json.dumps(rounded(values)) + "\n")


main()
