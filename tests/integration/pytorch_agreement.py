#!/usr/bin/env python3
"""Trains the same model in PyTorch as our trainer: same weights, same batches, same schedule; compares step by step.

    pytorch_agreement.py --bin build/cpu/bin --data TEXT [--steps 500] [--world-size 1] [--world-size 2]

Ours runs first: it exports its initial weights and logs the numbers of each step's samples. PyTorch then starts from
that file and cuts the same samples out of the text. Sample i reads bytes [i*T, i*T+T) of the first nine tenths and
predicts [i*T+1, i*T+T]. Exit code: 0 agreement, 1 disagreement, 77 no PyTorch.

What must agree (float32 rounding grows with the number of steps; a wrong GELU, beta or decay group shows at once):
    every parameter after the first step, to float32 rounding of an update of size learning rate
    the loss within 0.001 % up to step 10, 0.1 % up to step 100, 1 % up to step 500
    our validation loss at most 1 % above PyTorch's

With --bf16 ours trains with --bf16 and PyTorch under torch.autocast, which rounds other tensors (it keeps the residual
stream in float32, ours is bfloat16). A loss or gradient of one is off by the roundings on its way: 42 activations (10 in
each of 4 blocks, embedding and logits) and 17 weights, of at most 2^-8 each, twice for a gradient (there and back);
independent errors add in squares, and two such results differ by the square root of two more. What must agree:
    the first loss, to the rounding of logits (deviation 0.02 sqrt(128) in a new model)
    every tensor's first gradient, to the norm of its rounding
    losses of later steps within as much; the validation loss, which averages, within 1 %
"""
import argparse
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HEADS = 4  # of the tiny model; every other size is read off the weights
BETAS, EPSILON, WEIGHT_DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0
LEARNING_RATE, MINIMUM, WARMUP = 2e-3, 2e-4, 50


def read_safetensors(path):
    """{name: float32 tensor} of a file that holds only float32."""
    raw = pathlib.Path(path).read_bytes()
    (header_length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + header_length])
    body = raw[8 + header_length:]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", (name, entry)
        begin, end = entry["data_offsets"]
        values = np.frombuffer(body[begin:end], dtype="<f4").reshape(entry["shape"]).copy()
        tensors[name] = torch.from_numpy(values)
    return tensors


def gpt_loss(p, inputs, targets):
    """Cross-entropy of GPT-2 with the parameters `p` in Hugging Face's names (matrices are [in, out])."""
    B, T = inputs.shape
    C = p["wte.weight"].shape[1]
    layers = 1 + max(int(name.split(".")[1]) for name in p if name.startswith("h."))

    def norm(x, name):
        return F.layer_norm(x, (C,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def dense(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    x = p["wte.weight"][inputs] + p["wpe.weight"][:T]
    for i in range(layers):
        h = f"h.{i}."
        q, k, v = (t.view(B, T, HEADS, C // HEADS).transpose(1, 2)
                   for t in dense(norm(x, h + "ln_1"), h + "attn.c_attn").split(C, dim=2))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(C // HEADS)
        y = F.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ v
        x = x + dense(y.transpose(1, 2).reshape(B, T, C), h + "attn.c_proj")
        x = x + dense(gelu(dense(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ p["wte.weight"].T
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def learning_rate(step, total):
    warmup = min(WARMUP, total)
    if step < warmup:
        return LEARNING_RATE * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return MINIMUM + (LEARNING_RATE - MINIMUM) * 0.5 * (1 + math.cos(math.pi * progress))


class Text:
    """The samples that our TokenDataset cuts out of a file."""

    def __init__(self, path, context, is_bf16):
        self.is_bf16 = is_bf16
        tokens = torch.from_numpy(np.frombuffer(pathlib.Path(path).read_bytes(), dtype=np.uint8).astype(np.int64))
        split = len(tokens) * 9 // 10
        self.context = context
        self.training, self.validation = tokens[:split], tokens[split:]

    def batch(self, tokens, ids):
        T = self.context
        rows = torch.stack([tokens[i * T:i * T + T + 1] for i in ids])
        return rows[:, :-1], rows[:, 1:]

    def validation_loss(self, p, batch_size):
        total, count = 0.0, (len(self.validation) - 1) // self.context
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.is_bf16):
            for first in range(0, count, batch_size):
                ids = range(first, min(first + batch_size, count))
                total += gpt_loss(p, *self.batch(self.validation, ids)).item() * len(ids)
        return total / count


def bf16_tolerance(roundings):
    """Relative difference of two results, each with that many independent roundings to bfloat16."""
    return math.sqrt(2 * roundings) / 256


def run_ours(arguments, program, folder, extra):
    extra = extra + (["--bf16"] if arguments.bf16 else [])
    command = program + ["--model", "tiny", "--data", arguments.data, "--steps", str(arguments.steps), "--out",
                         str(folder), "--seed", "1", "--dropout", "0", "--validate-every", "0", "--sample-tokens", "0",
                         "--batch-size", str(arguments.batch_size), "--learning-rate", str(LEARNING_RATE),
                         "--min-learning-rate", str(MINIMUM), "--warmup-steps", str(WARMUP), "--weight-decay",
                         str(WEIGHT_DECAY), "--clip", str(CLIP)] + extra
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (run,) = pathlib.Path(folder).iterdir()
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()], run


def newest(run, name):
    return read_safetensors(max((run / "checkpoints").glob("step_*")) / name)


class TorchTrainer:
    def __init__(self, weights, arguments, text):
        self.p = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
        decayed = [t for t in self.p.values() if t.dim() >= 2]
        others = [t for t in self.p.values() if t.dim() < 2]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": WEIGHT_DECAY},
                                            {"params": others, "weight_decay": 0.0}],
                                           lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
        self.arguments, self.text = arguments, text
        self.clipped = {}  # gradients of the last step

    def step(self, index, ids):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.arguments.bf16):
            loss = gpt_loss(self.p, *self.text.batch(self.text.training, ids))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.p.values(), CLIP)
        self.clipped = {name: tensor.grad for name, tensor in self.p.items()}
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(index, self.arguments.steps)
        self.optimizer.step()
        return loss.item(), norm.item()


def compare_parameters(ours, theirs, before, gradients, rate):
    """Largest difference after one step in units of what float32 rounding explains, and the parameter's name.

    Adam's first update is rate * g / (|g| + epsilon). A gradient is a sum whose rounding error, dg, is relative to its
    larger terms, so an element that nearly cancels has a large relative error; the update's derivative, rate * epsilon /
    (|g| + epsilon)^2, carries it over. To that come a few roundings of the update and of the new value.
    """
    ulp, worst = 2.0**-23, (0.0, "")
    for name, value in theirs.items():
        g = gradients[name].abs()
        dg = 4 * ulp * g.max()
        carried = torch.clamp(dg * EPSILON / (g + EPSILON)**2, max=2.0)
        explained = rate * (carried + 8 * ulp) + 2 * ulp * before[name].abs()
        worst = max(worst, (((ours[name] - value).abs() / explained).max().item(), name))
    return worst


def check(name, value, limit, failures):
    print(f"  {name}: {value:.3g} (limit {limit:.3g})")
    if not value <= limit:
        failures.append(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder of the built programs")
    parser.add_argument("--data", required=True, help="text to train on")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--world-size", type=int, action="append", help="ranks of train_gpt_ddp; repeatable")
    parser.add_argument("--bf16", action="store_true", help="--bf16 against torch.autocast")
    arguments = parser.parse_args()
    arguments.data = os.path.abspath(arguments.data)
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        compare_all(arguments, pathlib.Path(scratch), failures)
    print("disagreement: " + ", ".join(failures) if failures else "agreement")
    return 1 if failures else 0


def compare_all(arguments, scratch, failures):
    single = [os.path.join(arguments.bin, "train_gpt_single")]
    initial = scratch / "initial.safetensors"
    metrics, run = run_ours(arguments, single, scratch / "single",
                            ["--save-every", "0", "--log-batches", "--export-initial", str(initial)])
    _, first_run = run_ours(arguments, single, scratch / "first", ["--stop-after", "1"])
    weights = read_safetensors(initial)
    text = Text(arguments.data, weights["wpe.weight"].shape[0], arguments.bf16)

    trainer = TorchTrainer(weights, arguments, text)
    losses = []
    for index, ours in enumerate(metrics):
        losses.append(trainer.step(index, ours["sample_ids"]))
        if index == 0:
            first_parameters = {name: tensor.detach().clone() for name, tensor in trainer.p.items()}
            first_gradients = {name: tensor.clone() for name, tensor in trainer.clipped.items()}
    validation = text.validation_loss(trainer.p, arguments.batch_size)

    if arguments.bf16:
        compare_gradients(newest(first_run, "optimizer.safetensors"), first_gradients, failures)
    else:
        compare_first_update(arguments, first_run, first_parameters, weights, first_gradients, failures)
    compare_losses("train_gpt_single", arguments, metrics, losses, validation, failures)
    for world_size in arguments.world_size or []:
        ddp = [os.path.join(arguments.bin, "lockstep"), "launch", "--nproc", str(world_size), "--",
               os.path.join(arguments.bin, "train_gpt_ddp")]
        for parts in (1, 2):
            metrics, _ = run_ours(arguments, ddp, scratch / f"ddp{world_size}_{parts}",
                                  ["--save-every", "0", "--accumulation-steps", str(parts)])
            compare_losses(f"train_gpt_ddp, {world_size} ranks, {parts} micro-batches", arguments, metrics, losses,
                           validation, failures)


def compare_gradients(state, theirs, failures):
    """Gradients of the first step, which Adam's first average holds: exp_avg = (1 - beta1) gradient."""
    worst = (0.0, "")
    for name, gradient in theirs.items():
        ours = state[name + ".exp_avg"] / (1 - BETAS[0])
        worst = max(worst, (((ours - gradient).norm() / gradient.norm()).item(), name))
    print("every gradient of the first step")
    check(f"largest relative difference of a tensor ({worst[1]})", worst[0], bf16_tolerance(2 * (42 + 17)), failures)


def compare_first_update(arguments, first_run, first_parameters, weights, first_gradients, failures):
    print("every parameter after one step")
    difference, name = compare_parameters(newest(first_run, "model.safetensors"), first_parameters, weights, first_gradients,
                                          learning_rate(0, arguments.steps))
    check(f"largest difference, in units of float32 rounding ({name})", difference, 1.0, failures)


def compare_losses(title, arguments, metrics, losses, validation, failures):
    print(title)
    relative = [abs(ours["loss"] - loss) / loss for ours, (loss, _) in zip(metrics, losses)]
    norms = [abs(ours["gradient_norm"] - norm) / norm for ours, (_, norm) in zip(metrics, losses)]
    print(f"  loss at step 1: ours {metrics[0]['loss']:.7g}, PyTorch {losses[0][0]:.7g}; at step {len(losses)}: "
          f"ours {metrics[-1]['loss']:.7g}, PyTorch {losses[-1][0]:.7g}")
    if arguments.bf16:
        first = abs(metrics[0]["loss"] - losses[0][0])
        check("loss, step 1", first, 0.02 * math.sqrt(128) * bf16_tolerance(42 + 17), failures)
        check("gradient norm, step 1, relative", norms[0], bf16_tolerance(2 * (42 + 17)), failures)
        check("losses, relative", max(relative), bf16_tolerance(2 * (42 + 17)), failures)
    else:
        check("loss, steps 1 to 10, relative", max(relative[:10]), 1e-5, failures)
        check("gradient norm, step 1, relative", norms[0], 1e-5, failures)
        check("loss, steps 11 to 100, relative", max(relative[10:100], default=0), 1e-3, failures)
        check("loss, steps 101 to 500, relative", max(relative[100:500], default=0), 1e-2, failures)
    ours = metrics[-1]["validation_loss"]
    print(f"  validation loss: ours {ours:.5f}, PyTorch {validation:.5f}")
    check("validation loss above PyTorch's, relative", ours / validation - 1, 1e-2, failures)


if __name__ == "__main__":
    sys.exit(main())
