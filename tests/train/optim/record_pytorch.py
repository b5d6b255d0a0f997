#!/usr/bin/env python3
"""Records what PyTorch's optimizers, clipping and schedules compute: pytorch_values.json, read by the tests.

Needs torch (Debian: python3-torch) and is run by hand: python3 tests/train/optim/record_pytorch.py
"""
import json
import math
import pathlib

import torch

STEPS = 3
LEARNING_RATE = 0.05
WEIGHT_DECAY = 0.1


def value(kind, index):
    """Inputs are formulas, so that the test computes the same ones."""
    return math.sin(1.0 + 0.7 * kind + 1.3 * index)


def gradient(kind, step, index):
    return math.cos(0.3 + 0.9 * kind + 1.1 * step + 0.8 * index) * 10.0 ** (index % 4 - 2)


def tensors(function, *arguments):
    """A matrix [3, 4] and a bias [5]."""
    matrix = torch.tensor([function(0, *arguments, i) for i in range(12)], dtype=torch.float32).reshape(3, 4)
    bias = torch.tensor([function(1, *arguments, i) for i in range(5)], dtype=torch.float32)
    return [matrix, bias]


def record_optimizer(make):
    """Parameters after each step; the matrix decays, the bias does not."""
    matrix, bias = [torch.nn.Parameter(t) for t in tensors(value)]
    optimizer = make([{"params": [matrix], "weight_decay": WEIGHT_DECAY}, {"params": [bias], "weight_decay": 0.0}])
    steps = []
    for step in range(STEPS):
        matrix.grad, bias.grad = tensors(gradient, step)
        optimizer.step()
        steps.append({"matrix": matrix.detach().flatten().tolist(), "bias": bias.detach().tolist()})
    return steps


def record_clip(max_norm):
    parameters = [torch.nn.Parameter(t) for t in tensors(value)]
    for parameter, grad in zip(parameters, tensors(gradient, 0)):
        parameter.grad = grad
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return {"max_norm": max_norm, "norm": norm.item(), "matrix": parameters[0].grad.flatten().tolist(),
            "bias": parameters[1].grad.tolist()}


def record_cosine(learning_rate, warmup, total, minimum):
    """Learning rates of the updates 0 .. total."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=learning_rate)
    schedulers = torch.optim.lr_scheduler
    rise = schedulers.LinearLR(optimizer, start_factor=1 / warmup, end_factor=1, total_iters=warmup - 1)
    fall = schedulers.CosineAnnealingLR(optimizer, T_max=total - warmup, eta_min=minimum)
    schedule = schedulers.SequentialLR(optimizer, [rise, fall], milestones=[warmup])
    rates = []
    for _ in range(total + 1):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return {"learning_rate": learning_rate, "warmup_steps": warmup, "total_steps": total, "minimum": minimum,
            "rates": rates}


def rates_of(optimizer, schedule, count):
    """Learning rates of the updates 0 .. count - 1."""
    rates = []
    for _ in range(count):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return rates


def record_linear(learning_rate, total, minimum):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1, end_factor=minimum / learning_rate,
                                                 total_iters=total)
    return {"learning_rate": learning_rate, "total_steps": total, "minimum": minimum,
            "rates": rates_of(optimizer, schedule, total + 3)}


def record_sequential(learning_rate, warmup, flat, total):
    """Warm-up, a plateau, a line to a tenth, then half a cosine to 0: SequentialLR with three milestones."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=learning_rate)
    schedulers = torch.optim.lr_scheduler
    parts = [schedulers.LinearLR(optimizer, start_factor=1 / warmup, end_factor=1, total_iters=warmup - 1),
             schedulers.ConstantLR(optimizer, factor=1, total_iters=0),
             schedulers.LinearLR(optimizer, start_factor=1, end_factor=0.1, total_iters=total),
             schedulers.CosineAnnealingLR(optimizer, T_max=total)]
    milestones = [warmup, warmup + flat, warmup + flat + total]
    schedule = schedulers.SequentialLR(optimizer, parts, milestones=milestones)
    return {"learning_rate": learning_rate, "warmup_steps": warmup, "total_steps": total, "milestones": milestones,
            "rates": rates_of(optimizer, schedule, milestones[-1] + total)}


def main():
    optim = torch.optim
    values = {
        "pytorch": torch.__version__,
        "optimizers": {
            "sgd": record_optimizer(lambda groups: optim.SGD(groups, lr=LEARNING_RATE)),
            "sgd_momentum": record_optimizer(lambda groups: optim.SGD(groups, lr=LEARNING_RATE, momentum=0.9)),
            "sgd_nesterov": record_optimizer(
                lambda groups: optim.SGD(groups, lr=LEARNING_RATE, momentum=0.9, nesterov=True)),
            "adam": record_optimizer(lambda groups: optim.Adam(groups, lr=LEARNING_RATE)),
            "adamw": record_optimizer(lambda groups: optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.95))),
        },
        "clip": [record_clip(0.5), record_clip(1e6)],
        "cosine": [record_cosine(1e-3, 5, 20, 1e-4), record_cosine(0.5, 2, 13, 0.0)],
        "linear": [record_linear(1e-3, 20, 1e-4), record_linear(0.5, 7, 0.0)],
        "sequential": [record_sequential(0.5, 4, 3, 8)],
    }
    path = pathlib.Path(__file__).with_name("pytorch_values.json")
    path.write_text(json.dumps(values, indent=1) + "\n")


main()
