#!/usr/bin/env python3
"""Records loss and gradients of a small GPT-2 and of an MLP in PyTorch, float64: pytorch_values.json, read by the tests.

The models are written out here with torch.nn.functional, with Hugging Face's names and layout.
Needs torch (Debian: python3-torch) and is run by hand: python3 tests/train/nn/record_pytorch.py
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

V, C, H, LAYERS, T, B = 11, 8, 2, 2, 5, 2


def gpt_shapes():
    shapes = {"wte.weight": (V, C), "wpe.weight": (T, C)}
    for layer in range(LAYERS):
        shapes.update({f"h.{layer}.{name}": shape for name, shape in {
            "ln_1.weight": (C,), "ln_1.bias": (C,),
            "attn.c_attn.weight": (C, 3 * C), "attn.c_attn.bias": (3 * C,),
            "attn.c_proj.weight": (C, C), "attn.c_proj.bias": (C,),
            "ln_2.weight": (C,), "ln_2.bias": (C,),
            "mlp.c_fc.weight": (C, 4 * C), "mlp.c_fc.bias": (4 * C,),
            "mlp.c_proj.weight": (4 * C, C), "mlp.c_proj.bias": (C,),
        }.items()})
    shapes.update({"ln_f.weight": (C,), "ln_f.bias": (C,)})
    return shapes


def make_parameters(shapes):
    """Values are a formula of (parameter number, element), so that the test sets the same ones."""
    parameters = {}
    for number, (name, shape) in enumerate(shapes.items()):
        count = math.prod(shape)
        values = [0.5 * math.sin(1.0 + 0.7 * number + 1.3 * i) for i in range(count)]
        parameters[name] = torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()
    return parameters


def gpt_loss(p, inputs, targets):
    x = p["wte.weight"][inputs] + p["wpe.weight"]
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    for layer in range(LAYERS):
        w = {name.split(".", 2)[2]: value for name, value in p.items() if name.startswith(f"h.{layer}.")}
        norm = F.layer_norm(x, (C,), w["ln_1.weight"], w["ln_1.bias"], 1e-5)
        qkv = norm @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
        q, k, v = (part.view(B, T, H, C // H).transpose(1, 2) for part in qkv.split(C, dim=2))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(C // H)).masked_fill(mask, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + y @ w["attn.c_proj.weight"] + w["attn.c_proj.bias"]
        norm = F.layer_norm(x, (C,), w["ln_2.weight"], w["ln_2.bias"], 1e-5)
        wide = F.gelu(norm @ w["mlp.c_fc.weight"] + w["mlp.c_fc.bias"], approximate="tanh")
        x = x + wide @ w["mlp.c_proj.weight"] + w["mlp.c_proj.bias"]
    x = F.layer_norm(x, (C,), p["ln_f.weight"], p["ln_f.bias"], 1e-5)
    logits = x @ p["wte.weight"].T
    return F.cross_entropy(logits.view(-1, V), targets.view(-1)), logits


def mlp_loss(p, inputs, targets):
    hidden = F.relu(F.linear(inputs, p["fc1.weight"], p["fc1.bias"]))
    logits = F.linear(hidden, p["fc2.weight"], p["fc2.bias"])
    return F.cross_entropy(logits, targets), logits


def record(parameters, loss_function, inputs, targets):
    loss, logits = loss_function(parameters, inputs, targets)
    loss.backward()
    return {"loss": loss.item(), "logits": logits.flatten().tolist(),
            "gradients": {name: p.grad.flatten().tolist() for name, p in parameters.items()}}


def rounded(value):
    """Ten significant digits: what the tests compare."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def main():
    tokens = torch.tensor([(3 * i * i + i) % V for i in range(B * T)]).view(B, T)
    next_tokens = torch.tensor([(5 * i + 2) % V for i in range(B * T)]).view(B, T)
    pixels = torch.tensor([math.cos(0.4 * i) for i in range(12)], dtype=torch.float64).view(3, 4)
    classes = torch.tensor([1, 0, 2])
    mlp = make_parameters({"fc1.weight": (5, 4), "fc1.bias": (5,), "fc2.weight": (3, 5), "fc2.bias": (3,)})
    values = {
        "pytorch": torch.__version__,
        "gpt": rounded(record(make_parameters(gpt_shapes()), gpt_loss, tokens, next_tokens)),
        "mlp": rounded(record(mlp, mlp_loss, pixels, classes)),
    }
    path = pathlib.Path(__file__).with_name("pytorch_values.json")
    path.write_text(json.dumps(values) + "\n")


main()
