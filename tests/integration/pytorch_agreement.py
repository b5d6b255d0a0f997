#!/usr/bin/env python3
"""Trains the same model in PyTorch as our trainer: same weights, same batches, same schedule; compares step by step.

    pytorch_agreement.py --bin build/cpu/bin --data TEXT [--model tiny] [--steps 20] [--world-size 1] [--world-size 2]
                         [--case plain --case clip,warmup,accumulation ...]

Ours runs first: it exports its initial weights and logs the numbers of each step's samples. PyTorch then starts from
that file and cuts the same samples out of the text. Sample i reads bytes [i*T, i*T+T) of the first nine tenths and
predicts [i*T+1, i*T+T]. A case names what is switched on: `clip` (else no clipping), `warmup` (else none),
`accumulation` (two micro-batches per rank and step, in PyTorch too), `bf16` (--bf16, and torch.autocast); `plain` is none
of them. Exit code: 0 agreement, 1 disagreement, 77 no PyTorch.

How far may rounding lead? That is not chosen but measured in the same run: PyTorch trains in float64, and in float32 (or
under autocast) with its sums in several orders (ORDERS: the batch in one piece, in two, in four), from the same weights
on the same batches. These runs depart from the float64 run by rounding alone, by more from step to step. Ours must stay
as close to the float64 run as the farthest of them up to a factor of FACTOR (random walks of the same law differ by a
small factor), in every tensor's first gradient, in the loss and the gradient norm of each step and in the validation
loss. In float32, moreover, every parameter after the first update must be within what rounding explains
(compare_parameters). A wrong GELU, beta or decay group is beyond that in the first or second step.
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

HEADS = {"tiny": 4, "small": 8, "tutorial": 8}  # every other size is read off the weights
BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.1
LEARNING_RATE, MINIMUM = 2e-3, 2e-4
FACTOR = 4.0
ORDERS = (1, 2, 4)  # parts into which a rounded run cuts each micro-batch
ULP = 2.0**-23  # of float32, relative


class Case:
    """What of the training is switched on."""

    def __init__(self, name, arguments):
        switches = [] if name == "plain" else name.split(",")
        unknown = set(switches) - {"clip", "warmup", "accumulation", "bf16"}
        if unknown:
            sys.exit(f"--case {name}: unknown {', '.join(sorted(unknown))}; there are clip, warmup, accumulation, bf16, plain")
        self.name, self.model, self.steps, self.batch_size = name, arguments.model, arguments.steps, arguments.batch_size
        # Below every gradient norm of these models, so that each step is clipped.
        self.clip = 0.25 if "clip" in switches else math.inf
        self.warmup = max(1, self.steps // 2) if "warmup" in switches else 0
        self.micro_batches = 2 if "accumulation" in switches else 1
        self.is_bf16 = "bf16" in switches

    def options(self):
        return ["--model", self.model, "--steps", str(self.steps), "--batch-size", str(self.batch_size),
                "--warmup-steps", str(self.warmup), "--clip", str(0 if math.isinf(self.clip) else self.clip),
                *(["--accumulation-steps", str(self.micro_batches)] if self.micro_batches > 1 else []),
                *(["--bf16"] if self.is_bf16 else [])]

    def learning_rate(self, step):
        if step < self.warmup:
            return LEARNING_RATE * (step + 1) / self.warmup
        progress = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return MINIMUM + (LEARNING_RATE - MINIMUM) * 0.5 * (1 + math.cos(math.pi * progress))


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


def gpt_loss(p, inputs, targets, heads):
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
        q, k, v = (t.view(B, T, heads, C // heads).transpose(1, 2)
                   for t in dense(norm(x, h + "ln_1"), h + "attn.c_attn").split(C, dim=2))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(C // heads)
        y = F.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ v
        x = x + dense(y.transpose(1, 2).reshape(B, T, C), h + "attn.c_proj")
        x = x + dense(gelu(dense(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ p["wte.weight"].T
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class Text:
    """The samples that our TokenDataset cuts out of a file."""

    def __init__(self, path, context):
        tokens = torch.from_numpy(np.frombuffer(pathlib.Path(path).read_bytes(), dtype=np.uint8).astype(np.int64))
        split = len(tokens) * 9 // 10
        self.context = context
        self.training, self.validation = tokens[:split], tokens[split:]

    def batch(self, tokens, ids):
        T = self.context
        rows = torch.stack([tokens[i * T:i * T + T + 1] for i in ids])
        return rows[:, :-1], rows[:, 1:]

    def validation_loss(self, p, case):
        total, count = 0.0, (len(self.validation) - 1) // self.context
        with torch.no_grad():
            for first in range(0, count, 16):
                ids = range(first, min(first + 16, count))
                total += gpt_loss(p, *self.batch(self.validation, ids), HEADS[case.model]).item() * len(ids)
        return total / count


def run_ours(arguments, case, program, folder, extra):
    command = program + ["--data", arguments.data, "--out", str(folder), "--seed", "1", "--dropout", "0",
                         "--validate-every", "0", "--sample-tokens", "0", "--learning-rate", str(LEARNING_RATE),
                         "--min-learning-rate", str(MINIMUM), "--weight-decay", str(WEIGHT_DECAY), "--save-every",
                         "0"] + case.options() + extra
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (run,) = pathlib.Path(folder).iterdir()
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()], run


def newest(run, name):
    return read_safetensors(max((run / "checkpoints").glob("step_*")) / name)


class TorchTrainer:
    """One training in PyTorch: in float64, float32, or float32 under autocast."""

    def __init__(self, weights, case, text, dtype, parts=1):
        self.p = {name: tensor.to(dtype, copy=True).requires_grad_() for name, tensor in weights.items()}
        decayed = [t for t in self.p.values() if t.dim() >= 2]
        others = [t for t in self.p.values() if t.dim() < 2]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": WEIGHT_DECAY},
                                            {"params": others, "weight_decay": 0.0}],
                                           lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
        self.case, self.text, self.parts = case, text, case.micro_batches * parts
        self.is_autocast = case.is_bf16 and dtype == torch.float32

    def step(self, index, ids):
        """Mean loss and gradient norm before clipping of one update."""
        self.optimizer.zero_grad()
        total = 0.0
        for part in np.array_split(ids, self.parts):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.is_autocast):
                loss = gpt_loss(self.p, *self.text.batch(self.text.training, part), HEADS[self.case.model])
            (loss * (len(part) / len(ids))).backward()
            total += loss.item() * (len(part) / len(ids))
        norm = torch.nn.utils.clip_grad_norm_(self.p.values(), self.case.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.case.learning_rate(index)
        self.optimizer.step()
        return total, norm.item()

    def gradients(self):
        """After clipping, of the last step."""
        return {name: tensor.grad.clone() for name, tensor in self.p.items()}

    def parameters(self):
        return {name: tensor.detach().clone() for name, tensor in self.p.items()}


def compare_parameters(ours, reference, before, gradients, rate):
    """Largest difference after one step in units of what float32 rounding explains, and the parameter's name.

    Adam's first update is rate * g / (|g| + epsilon). A gradient is a sum whose rounding error, dg, is relative to its
    larger terms, so an element that nearly cancels has a large relative error; the update's derivative, rate * epsilon /
    (|g| + epsilon)^2, carries it over. To that come a few roundings of the update and of the new value.
    """
    worst = (0.0, "")
    for name, value in reference.items():
        g = gradients[name].abs()
        dg = 4 * ULP * g.max()
        carried = torch.clamp(dg * EPSILON / (g + EPSILON)**2, max=2.0)
        explained = rate * (carried + 8 * ULP) + 2 * ULP * before[name].abs()
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
    parser.add_argument("--model", choices=sorted(HEADS), default="tiny")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--world-size", type=int, action="append", help="ranks of train_gpt_ddp; repeatable")
    parser.add_argument("--case", action="append", help="clip, warmup, accumulation with commas between, or plain")
    arguments = parser.parse_args()
    arguments.data = os.path.abspath(arguments.data)
    failures = []
    for name in arguments.case or ["clip,warmup"]:
        with tempfile.TemporaryDirectory() as scratch:
            compare_case(arguments, Case(name, arguments), pathlib.Path(scratch), failures)
    print("disagreement: " + ", ".join(failures) if failures else "agreement")
    return 1 if failures else 0


def compare_case(arguments, case, scratch, failures):
    print(f"{case.model}, {case.name}: {case.steps} steps of {case.batch_size} samples")
    single = [os.path.join(arguments.bin, "train_gpt_single")]
    initial = scratch / "initial.safetensors"
    metrics, run = run_ours(arguments, case, single, scratch / "single",
                            ["--log-batches", "--export-initial", str(initial)])
    _, first_run = run_ours(arguments, case, single, scratch / "first", ["--stop-after", "1"])
    weights = read_safetensors(initial)
    text = Text(arguments.data, weights["wpe.weight"].shape[0])

    exact = TorchTrainer(weights, case, text, torch.float64)
    rounded = [TorchTrainer(weights, case, text, torch.float32, parts) for parts in ORDERS]
    references, roundings = [], []
    for index, ours in enumerate(metrics):
        references.append(exact.step(index, ours["sample_ids"]))
        roundings.append([trainer.step(index, ours["sample_ids"]) for trainer in rounded])
        if index == 0:
            compare_first_step(case, first_run, weights, exact, rounded, failures)
    validation = text.validation_loss(exact.p, case)
    compare_curves(f"{case.name}: 1 process", metrics, references, roundings, validation, failures)
    for world_size in arguments.world_size or []:
        ddp = [os.path.join(arguments.bin, "lockstep"), "launch", "--nproc", str(world_size), "--",
               os.path.join(arguments.bin, "train_gpt_ddp")]
        metrics, _ = run_ours(arguments, case, ddp, scratch / f"ddp{world_size}", [])
        compare_curves(f"{case.name}: {world_size} ranks", metrics, references, roundings, validation, failures)


def compare_first_step(case, run, before, exact, rounded, failures):
    """Gradients, which Adam's first average holds (exp_avg = (1 - beta1) gradient), and in float32 the parameters."""
    averages, reference = newest(run, "optimizer.safetensors"), exact.gradients()
    others = [trainer.gradients() for trainer in rounded]
    worst = (0.0, "")
    for name, gradient in reference.items():
        unit = max([(other[name] - gradient).norm().item() for other in others] + [4 * ULP * gradient.norm().item()])
        ours = averages[name + ".exp_avg"].double() / (1 - BETAS[0])
        worst = max(worst, ((ours - gradient).norm().item() / unit, name))
    check(f"{case.name}: first gradient, largest departure of a tensor ({worst[1]})", worst[0], FACTOR, failures)
    if case.is_bf16:
        return
    worst = compare_parameters(newest(run, "model.safetensors"), exact.parameters(), before, reference,
                               case.learning_rate(0))
    check(f"{case.name}: parameters after one step, in units of float32 rounding ({worst[1]})", worst[0], 1.0, failures)


def compare_curves(title, metrics, references, roundings, validation, failures):
    """Loss and gradient norm of each step beside the float64 run, in units of what PyTorch's rounded runs depart.

    The unit of a step is the largest departure of any of them so far; at least a few roundings of the number itself, for
    a single number may be right by chance. The validation loss, a mean over more samples, has the unit of the last loss.
    """
    units = {}
    for quantity, column in (("loss", 0), ("gradient_norm", 1)):
        unit, worst, at = 0.0, 0.0, 0
        for index, (ours, reference, rounding) in enumerate(zip(metrics, references, roundings)):
            departures = [abs(run[column] - reference[column]) for run in rounding]
            unit = max(unit, *departures, 4 * ULP * reference[column])
            departure = abs(ours[quantity] - reference[column]) / unit
            if departure > worst:
                worst, at = departure, index + 1
        units[quantity] = unit
        print(f"  {title}, {quantity} at the end: ours {metrics[-1][quantity]:.9g}, PyTorch float64 "
              f"{references[-1][column]:.9g}, rounded {roundings[-1][0][column]:.9g}")
        check(f"{title}: {quantity}, largest departure (step {at})", worst, FACTOR, failures)
    departure = abs(metrics[-1]["validation_loss"] - validation) / units["loss"]
    check(f"{title}: validation loss, departure", departure, FACTOR, failures)


if __name__ == "__main__":
    sys.exit(main())
