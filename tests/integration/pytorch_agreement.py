#!/usr/bin/env python3
"""Trains the same model in PyTorch as our trainer: same weights, same batches, same schedule; compares step by step.

    pytorch_agreement.py --bin build/cpu/bin --data TEXT [--model tiny ...] [--steps 20] [--world-size 1 --world-size 2 ...]
                         [--layout zero3:4 --layout grid:8 ...] [--case plain --case clip,warmup,accumulation ...]
                         [--record FILE]
    pytorch_agreement.py --bin build/cpu/bin --data TEXT --matrix [--record FILE]

Ours runs first: it exports its initial weights and logs the numbers of each step's samples. PyTorch then starts from
that file and cuts the same samples out of the text. Sample i reads bytes [i*T, i*T+T) of the first nine tenths and
predicts [i*T+1, i*T+T]. A case names what is switched on: `clip` (else no clipping), `warmup` (else none),
`accumulation` (two micro-batches per rank and step, in PyTorch too), `bf16` (--bf16, and torch.autocast); `plain` is none
of them. --matrix is all of them: each model, all eight combinations of the first three and bf16, one process and 1, 2 and
4 ranks. A layout is how ranks share the work (LAYOUTS, chapters 06 and 09 to 12) and their number; --world-size N is
--layout ddp:N. PyTorch also opens what each layout has saved, and validates with it. Exit code: 0 agreement, 1
disagreement, 77 no PyTorch.

How far may rounding lead? That is not chosen but measured in the same run: PyTorch trains in float64, and in float32 (or
under autocast) nine times: with its sums in several orders (ORDERS: the batch in one piece, in two, in four), and from
initial weights that are off by up to one rounding each, at random (MOVED such runs). All see the same batches. They depart
from the float64 run by rounding alone, by more from step to step. Ours must stay as close to the float64 run as the
farthest of them up to a factor of FACTOR, in every tensor's first gradient, in the loss and the gradient norm of each step
and in the validation loss.

Why moved weights, and why so many? A change of the order leaves most roundings of a step as they were: the runs of ORDERS
depart together, and as samples of what rounding does to one number they count as little more than one. Weights that are
off in their last bit give independent samples. Of n + 1 independent normal numbers the last is farther from zero than
FACTOR = 4 times the farthest of the others with probability 0.16 for n = 1, 0.004 for n = 4 and 0.0003 for n = 7.

In float32, moreover, every parameter after the first update must be within what rounding explains
(compare_parameters). A wrong GELU, beta or decay group is beyond that in the first or second step.
"""
import argparse
import datetime
import itertools
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

try:
    import torch
    from pytorch_training import (BETAS, EPSILON, HEADS, LEARNING_RATE, MINIMUM, WEIGHT_DECAY, Text, TorchTrainer,
                                  read_safetensors)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FACTOR = 4.0
ORDERS = (1, 2, 4)  # parts into which a rounded run cuts each micro-batch
MOVED = 6  # rounded runs from weights that are off by a rounding
ULP = 2.0**-23  # of float32, relative
MATRIX_STEPS = {"tiny": 10, "small": 4, "tutorial": 3}
MATRIX_BATCH = {"tiny": 8, "small": 8, "tutorial": 4}  # twice as many with accumulation, whose parts are as large then
CONTEXT = {"tiny": 128, "small": 256, "tutorial": 127}
SWITCHES = ("clip", "warmup", "accumulation")
LAYOUTS = {  # trainer and its options
    "ddp": ["train_gpt_ddp"],
    "zero1": ["train_gpt_sharded", "--zero", "1"],
    "zero2": ["train_gpt_sharded", "--zero", "2"],
    "zero3": ["train_gpt_sharded", "--zero", "3"],
    "tensor": ["train_gpt_tensor_parallel"],
    "sequence": ["train_gpt_tensor_parallel", "--sequence-parallel"],
    "pipeline": ["train_gpt_pipeline"],
    "grid": ["train_gpt_3d", "--tensor", "2", "--pipeline", "2"],
}


class Case:
    """What of the training is switched on."""

    def __init__(self, name, model, steps, batch_size):
        switches = [] if name == "plain" else name.split(",")
        unknown = set(switches) - {*SWITCHES, "bf16"}
        if unknown:
            sys.exit(f"--case {name}: unknown {', '.join(sorted(unknown))}; there are clip, warmup, accumulation, bf16, plain")
        self.name, self.model, self.steps, self.batch_size = name, model, steps, batch_size
        # Below every gradient norm of these models, so that each step is clipped.
        self.clip = 0.25 if "clip" in switches else math.inf
        self.warmup = max(2, self.steps // 2) if "warmup" in switches else 0
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


class Layout:
    """How ranks share the work, and how many they are: "grid:8"; without a text, one process."""

    def __init__(self, text=""):
        self.name, _, ranks = text.partition(":")
        if text and (self.name not in LAYOUTS or not ranks.isdecimal() or int(ranks) < 1):
            sys.exit(f"--layout {text}: a name of {', '.join(LAYOUTS)}, a colon and the number of ranks")
        self.ranks = int(ranks or 0)

    def __str__(self):
        return f"{self.name}, {self.ranks} ranks" if self.ranks else "1 process"

    def command(self, folder):
        if not self.ranks:
            return [os.path.join(folder, "train_gpt_single")]
        program, *options = LAYOUTS[self.name]
        return [os.path.join(folder, "lockstep"), "launch", "--nproc", str(self.ranks), "--",
                os.path.join(folder, program), *options]


def matrix_cases():
    names = [",".join(on) or "plain" for n in range(len(SWITCHES) + 1) for on in itertools.combinations(SWITCHES, n)]
    return names + ["bf16," + ",".join(SWITCHES)]


def run_ours(data, case, program, folder, extra):
    command = program + ["--data", str(data), "--out", str(folder), "--seed", "1", "--dropout", "0",
                         "--validate-every", "0", "--sample-tokens", "0", "--learning-rate", str(LEARNING_RATE),
                         "--min-learning-rate", str(MINIMUM), "--weight-decay", str(WEIGHT_DECAY), "--save-every",
                         "0"] + case.options() + extra
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (run,) = pathlib.Path(folder).iterdir()
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()], run


def moved(weights, seed):
    """The weights, each off by up to one float32 rounding, at random."""
    generator = torch.Generator().manual_seed(seed)

    def move(tensor):
        return tensor * (1 + ULP * (2 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64) - 1))

    return {name: move(tensor.double()).float() for name, tensor in weights.items()}


def newest(run, name):
    return read_safetensors(max((run / "checkpoints").glob("step_*")) / name)


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


class Findings:
    """The rows of the table: one per comparison."""

    def __init__(self):
        self.rows = []

    def add(self, case, layout, quantity, where, value, limit):
        """`value` in units of rounding."""
        row = {"model": case.model, "case": case.name, "steps": case.steps, "batch_size": case.batch_size,
               "layout": str(layout), "quantity": quantity, "where": where, "departure": float(f"{value:.3g}"),
               "limit": limit, "agrees": bool(value <= limit)}
        self.rows.append(row)
        print(f"  {case.name}: {layout}: {quantity}, largest departure ({where}): {value:.3g} (limit {limit:.3g})"
              f"{'' if row['agrees'] else '  DISAGREES'}", flush=True)

    def table(self):
        """For each model and case what departs most of each quantity, whatever the number of processes."""
        quantities = list(dict.fromkeys(row["quantity"] for row in self.rows))
        print(f"\n{'model':9}{'case':31}" + "".join(f"{q:>16}" for q in quantities) + "   departs most")
        for (model, case), group in itertools.groupby(self.rows, key=lambda row: (row["model"], row["case"])):
            group = list(group)
            cells = ""
            for quantity in quantities:
                values = [row["departure"] for row in group if row["quantity"] == quantity]
                cells += f"{max(values):16.3g}" if values else f"{'-':>16}"
            worst = max(group, key=lambda row: row["departure"] / row["limit"])
            print(f"{model:9}{case:31}{cells}   {worst['quantity']}, {worst['where']}, {worst['layout']}")

    def disagreements(self):
        return [f"{row['model']}, {row['case']}, {row['layout']}: {row['quantity']}" for row in self.rows
                if not row["agrees"]]


def compare_case(arguments, case, scratch, findings):
    print(f"{case.model}, {case.name}: {case.steps} steps of {case.batch_size} samples", flush=True)
    single = Layout().command(arguments.bin)
    initial = scratch / "initial.safetensors"
    metrics, run = run_ours(arguments.data, case, single, scratch / "single",
                            ["--log-batches", "--export-initial", str(initial)])
    _, first_run = run_ours(arguments.data, case, single, scratch / "first", ["--stop-after", "1"])
    weights = read_safetensors(initial)
    text = Text(arguments.data, weights["wpe.weight"].shape[0])

    exact = TorchTrainer(weights, case, text, torch.float64)
    rounded = [TorchTrainer(weights, case, text, torch.float32, parts) for parts in ORDERS]
    rounded += [TorchTrainer(moved(weights, seed), case, text, torch.float32) for seed in range(MOVED)]
    references, roundings = [], []
    for index, ours in enumerate(metrics):
        references.append(exact.step(index, ours["sample_ids"]))
        roundings.append([trainer.step(index, ours["sample_ids"]) for trainer in rounded])
        if index == 0:
            compare_first_step(case, first_run, weights, exact, rounded, findings)
    validation = [text.validation_loss(trainer.p, case) for trainer in [exact, *rounded]]
    compare_curves(case, Layout(), metrics, references, roundings, validation, findings)
    for layout in arguments.layout:
        metrics, run = run_ours(arguments.data, case, layout.command(arguments.bin),
                                scratch / f"{layout.name}{layout.ranks}", [])
        unit = compare_curves(case, layout, metrics, references, roundings, validation, findings)
        compare_file(case, layout, metrics, run, text, weights, unit, findings)


def compare_first_step(case, run, before, exact, rounded, findings):
    """Gradients, which Adam's first average holds (exp_avg = (1 - beta1) gradient), and in float32 the parameters."""
    averages, reference = newest(run, "optimizer.safetensors"), exact.gradients()
    others = [trainer.gradients() for trainer in rounded]
    worst = (0.0, "")
    for name, gradient in reference.items():
        unit = max([(other[name] - gradient).norm().item() for other in others] + [4 * ULP * gradient.norm().item()])
        ours = averages[name + ".exp_avg"].double() / (1 - BETAS[0])
        worst = max(worst, ((ours - gradient).norm().item() / unit, name))
    findings.add(case, Layout(), "first gradient", worst[1], worst[0], FACTOR)
    if case.is_bf16:
        return
    worst = compare_parameters(newest(run, "model.safetensors"), exact.parameters(), before, reference,
                               case.learning_rate(0))
    findings.add(case, Layout(), "parameters", worst[1], worst[0], 1.0)


def compare_curves(case, layout, metrics, references, roundings, validation, findings):
    """Loss and gradient norm of each step beside the float64 run, in units of what PyTorch's rounded runs depart.

    The unit of a step is the largest departure of any of them so far; at least a few roundings of the number itself, for
    a single number may be right by chance. `validation` holds the validation loss of the float64 run and of each rounded
    one; it comes after the last update, and so its unit is that of these runs' validation losses, not of the last loss.
    Returns that unit.
    """
    units = {}
    for quantity, column in (("loss", 0), ("gradient_norm", 1)):
        unit, worst, at = 0.0, 0.0, 0
        for index, (ours, reference, rounding) in enumerate(zip(metrics, references, roundings)):
            departures = [abs(run[column] - reference[column]) for run in rounding]
            unit = max(unit, *departures, 4 * ULP * reference[column])
            departure = abs(ours[quantity] - reference[column]) / unit
            if departure >= worst:
                worst, at = departure, index + 1
        units[quantity] = unit
        print(f"  {quantity} at the end: ours {metrics[-1][quantity]:.9g}, PyTorch float64 "
              f"{references[-1][column]:.9g}, rounded {roundings[-1][0][column]:.9g}")
        findings.add(case, layout, quantity.replace("_", " "), f"step {at}", worst, FACTOR)
    unit = max(units["loss"], *[abs(rounding - validation[0]) for rounding in validation[1:]])
    departure = abs(metrics[-1]["validation_loss"] - validation[0]) / unit
    findings.add(case, layout, "validation loss", f"step {case.steps}", departure, FACTOR)
    return unit


def compare_file(case, layout, metrics, run, text, before, unit, findings):
    """PyTorch's validation loss, in float64, with the parameters that ours has saved; they are all there, and whole."""
    saved = newest(run, "model.safetensors")
    shapes = {name: tuple(tensor.shape) for name, tensor in saved.items()}
    if shapes != {name: tuple(tensor.shape) for name, tensor in before.items()}:
        findings.add(case, layout, "saved file", "names and shapes", math.inf, FACTOR)
        return
    loss = text.validation_loss({name: tensor.double() for name, tensor in saved.items()}, case)
    departure = abs(loss - metrics[-1]["validation_loss"]) / unit
    findings.add(case, layout, "saved file", f"step {case.steps}", departure, FACTOR)


def cut_text(path, scratch, length):
    """The begin of the text: so many bytes, of which a tenth is for validation."""
    cut = scratch / "text.txt"
    cut.write_bytes(pathlib.Path(path).read_bytes()[:length])
    return cut


def write_record(path, rows):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    record = {"title": "training beside PyTorch: departure from its float64 run, in units of its own rounded runs'",
              "date": datetime.date.today().isoformat(),
              "command": " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
              "machine": {"processor": (names or [platform.processor()])[0], "cores": os.cpu_count(),
                          "kernel": platform.release()},
              "versions": {"torch": torch.__version__, "python": platform.python_version()},
              "rows": rows}
    with open(path, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder of the built programs")
    parser.add_argument("--data", required=True, help="text to train on")
    parser.add_argument("--model", choices=sorted(HEADS), action="append", help="repeatable")
    parser.add_argument("--steps", type=int, help="by default 20, or what --matrix takes")
    parser.add_argument("--batch-size", type=int, help="by default 16, or what --matrix takes")
    parser.add_argument("--world-size", type=int, action="append", help="ranks of train_gpt_ddp; repeatable")
    parser.add_argument("--layout", type=Layout, action="append", default=[],
                        help="NAME:RANKS, such as zero3:4 or grid:8; repeatable")
    parser.add_argument("--case", action="append", help="clip, warmup, accumulation, bf16 with commas between, or plain")
    parser.add_argument("--matrix", action="store_true", help="all models, cases and 1, 2 and 4 ranks")
    parser.add_argument("--record", help="file for the table as JSON")
    arguments = parser.parse_args()
    arguments.data = text = os.path.abspath(arguments.data)
    worlds = arguments.world_size or ([1, 2, 4] if arguments.matrix else [])
    arguments.layout = [Layout(f"ddp:{world}") for world in worlds] + arguments.layout
    findings = Findings()
    for model in arguments.model or (list(HEADS) if arguments.matrix else ["tiny"]):
        steps = arguments.steps or (MATRIX_STEPS[model] if arguments.matrix else 20)
        for name in arguments.case or (matrix_cases() if arguments.matrix else ["clip,warmup"]):
            with tempfile.TemporaryDirectory() as scratch:
                scratch = pathlib.Path(scratch)
                in_matrix = MATRIX_BATCH[model] * (2 if "accumulation" in name else 1)
                batch_size = arguments.batch_size or (in_matrix if arguments.matrix else 16)
                # Twice what the steps read: more would only be validated with, by every run.
                arguments.data = cut_text(text, scratch, 2 * steps * batch_size * CONTEXT[model])
                compare_case(arguments, Case(name, model, steps, batch_size), scratch, findings)
            if arguments.record:
                write_record(arguments.record, findings.rows)
    findings.table()
    failures = findings.disagreements()
    print("disagreement: " + "; ".join(failures) if failures else "agreement")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
