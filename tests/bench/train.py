#!/usr/bin/env python3
"""Training on this machine: ours beside PyTorch, same model, same global batch, float32, interleaved in one run.

Prints one table; --out writes it as JSON. Without PyTorch (apt-get install python3-torch) only ours is measured.
"""
import argparse
import glob
import json
import os
import tempfile

from bench_common import BIN, HERE, free_port, has_torch, median, peak_mib_of, run, run_python_ranks, write_record

STEPS = {"tiny": 40, "small": 14, "tutorial": 6}
WARM_UP = {"tiny": 5, "small": 3, "tutorial": 2}
CONTEXT_AND_BATCH = {"tiny": (128, 16), "small": (256, 8), "tutorial": (127, 32)}


def measure_ours(model, world_size, threads, text):
    """Median step time and peak memory of `train_gpt_single` or `train_gpt_ddp`, from its metrics."""
    steps = STEPS[model]
    options = ["--model", model, "--steps", str(steps), "--validate-every", "0", "--save-every", "0"]
    options += ["--sample-tokens", "0", "--data", text]
    with tempfile.TemporaryDirectory() as folder:
        options += ["--out", folder]
        if world_size == 1:
            command = [os.path.join(BIN, "train_gpt_single"), *options]
        else:
            launch = [os.path.join(BIN, "lockstep"), "launch", "--nproc", str(world_size), "--"]
            command = [*launch, os.path.join(BIN, "train_gpt_ddp"), *options]
        peak_mib = peak_mib_of(command, OMP_NUM_THREADS=threads)
        lines = []
        for path in glob.glob(os.path.join(folder, "*", "metrics.jsonl")):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
    lines = [line for line in lines if "step_ms" in line]
    if peak_mib is None or len(lines) < steps:
        return None
    return {
        "ms": median([line["step_ms"] for line in lines[WARM_UP[model]:]]),
        "peak_mib": peak_mib,
        "exposed_ms": median([line.get("exposed_communication_ms", 0) for line in lines[WARM_UP[model]:]]),
    }


def measure_torch(model, world_size, threads):
    script = os.path.join(HERE, "peers", "torch_gpt.py")
    arguments = ["--model", model, "--threads", str(threads), "--steps", str(STEPS[model])]
    arguments += ["--warm-up", str(WARM_UP[model])]
    if world_size == 1:
        text = run(["/usr/bin/python3", script, *arguments], OMP_NUM_THREADS=threads)
    else:
        text = run_python_ranks(script, world_size, free_port(), arguments, OMP_NUM_THREADS=threads)
    fields = text.strip().split(",")
    if len(fields) != 7:
        return None
    return {"ms": float(fields[4]), "peak_mib": float(fields[6]), "exposed_ms": None}


def make_text(folder):
    """Bytes enough for every configuration; what they say does not matter to the time a step takes."""
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="ascii") as file:
        for i in range(40000):
            file.write(f"{i * 2654435761 % 99991} steps in lockstep\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="tiny,small,tutorial")
    parser.add_argument("--layouts", default="1x2,2x1", help="ranks x threads, for example 1x2,2x1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    torch = has_torch()
    if not torch:
        print("PyTorch is not installed: only ours is measured")
    layouts = [tuple(map(int, layout.split("x"))) for layout in arguments.layouts.split(",")]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        text = make_text(folder)
        for model in arguments.models.split(","):
            for _ in range(arguments.rounds):
                for world_size, threads in layouts:
                    measured = {"lockstep": measure_ours(model, world_size, threads, text)}
                    if torch:
                        measured["PyTorch"] = measure_torch(model, world_size, threads)
                    for system, result in measured.items():
                        if result:
                            results.setdefault((model, world_size, threads, system), []).append(result)
    rows = []
    for (model, world_size, threads, system), values in results.items():
        context, batch = CONTEXT_AND_BATCH[model]
        ms = median([value["ms"] for value in values])
        rows.append(
            {
                "model": model,
                "world_size": world_size,
                "threads": threads,
                "system": system,
                "ms_per_step": ms,
                "tokens_per_second": context * batch / ms * 1e3,
                "peak_mib_per_rank": median([value["peak_mib"] for value in values]),
            }
        )
    print(f"\n{'model':<9} {'ranks x threads':<16} {'system':<10} {'ms/step':>9} {'tokens/s':>9} {'MiB/rank':>9} {'ours/best PyTorch':>18}")
    for row in rows:
        peers = [r["tokens_per_second"] for r in rows if r["model"] == row["model"] and r["system"] == "PyTorch"]
        ratio = row["tokens_per_second"] / max(peers) if peers and row["system"] == "lockstep" else None
        row["speed_over_best_pytorch"] = ratio
        print(
            f"{row['model']:<9} {row['world_size']} x {row['threads']:<12} {row['system']:<10} {row['ms_per_step']:>9.1f} "
            f"{row['tokens_per_second']:>9.0f} {row['peak_mib_per_rank']:>9.0f} {f'{ratio:.2f}' if ratio else '':>18}"
        )
    if arguments.out:
        write_record(arguments.out, "training step, GPT-2 style, float32, CPU", rows)


main()
