#!/usr/bin/env python3
"""Training on one GPU: ours beside PyTorch, same model and batch, one after the other in one run; and the losses of ours
on the GPU beside ours on the CPU.

    train_beside_pytorch.py --bin build/cuda/bin --out results.json [--device cuda] [--model small ...] [--steps 20]

Prints a line per run and writes all as JSON. PyTorch (torch_gpt.py of tests/bench/peers) runs compiled, with fused
attention and AdamW, on the Python that runs this script; without PyTorch only ours is measured. Neither multiplies
float32 matrices in TensorFloat-32. Exit code: 0, or 1 if ours failed or its losses leave the CPU's.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from bench_common import HERE, median  # noqa: E402  (tests/bench)

# Two runs of one training in float32 agree in this many steps to a few parts in 10^5; chance takes over later.
LOSS_STEPS, LOSS_TOLERANCE = 10, 1e-3


def train_ours(arguments, device, model, options, folder):
    """Lines of metrics.jsonl, or nothing where the training failed."""
    command = [os.path.join(arguments.bin, "train_gpt_single"), "--device", device, "--model", model, "--out", folder]
    command += ["--validate-every", "0", "--save-every", "0", "--sample-tokens", "0", "--clip", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-400:]}", flush=True)
        return []
    (run,) = pathlib.Path(folder).iterdir()
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def ours(arguments, model, precision, warm_up):
    with tempfile.TemporaryDirectory() as folder:
        # Tokens that cost nothing to read and exist in any number.
        options = ["--data", "random", "--steps", str(arguments.steps)] + (["--bf16"] if precision == "bf16" else [])
        lines = train_ours(arguments, arguments.device, model, options, folder)
    if len(lines) <= warm_up:
        return None
    milliseconds = median([line["step_ms"] for line in lines[warm_up:]])
    return {"system": "lockstep", "model": model, "precision": precision, "ms_per_step": milliseconds,
            "tokens_per_second": lines[-1]["tokens"] / milliseconds * 1e3, "peak_mib": max(lines[-1]["peak_memory_mib"])}


def pytorch(arguments, model, precision, warm_up):
    command = [sys.executable, os.path.join(HERE, "peers", "torch_gpt.py"), "--device", arguments.torch_device]
    command += ["--model", model, "--steps", str(arguments.steps), "--warm-up", str(warm_up)]
    command += ["--bf16"] if precision == "bf16" else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
    fields = done.stdout.strip().split(",")
    if done.returncode != 0 or len(fields) != 7:
        print(f"PyTorch is not measured: {done.stderr.strip()[-300:]}", flush=True)
        return None
    return {"system": fields[0], "model": model, "precision": precision, "ms_per_step": float(fields[4]),
            "tokens_per_second": float(fields[5]), "peak_mib": float(fields[6])}


def losses_agree(arguments):
    """The tiny model's first steps on the GPU and on the CPU, same weights and batches."""
    curves = []
    for device in (arguments.device, "cpu"):
        with tempfile.TemporaryDirectory() as folder:
            options = ["--steps", str(LOSS_STEPS), "--seed", "1", *arguments.loss_option]
            curves.append([line["loss"] for line in train_ours(arguments, device, "tiny", options, folder)])
    if not curves[0] or len(curves[0]) != len(curves[1]):
        return None
    return max(abs(a - b) / b for a, b in zip(*curves))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", required=True, help="folder of the built programs")
    parser.add_argument("--out", required=True, help="file for the results")
    parser.add_argument("--device", default="cuda", help="of train_gpt_single")
    parser.add_argument("--torch-device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--model", action="append", help="repeatable; by default small and 124m")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for each run")
    parser.add_argument("--loss-option", action="append", default=[], help="another option of the loss comparison; repeatable")
    arguments = parser.parse_args()
    warm_up = min(5, arguments.steps - 1)
    rows, has_failed = [], False
    for model in arguments.model or ["small", "124m"]:
        for precision in ("fp32", "bf16"):
            mine, theirs = ours(arguments, model, precision, warm_up), pytorch(arguments, model, precision, warm_up)
            has_failed = has_failed or mine is None
            for row in (mine, theirs):
                if row is None:
                    continue
                print(f"{row['system']:16}{model:10}{precision:6}{row['ms_per_step']:10.2f} ms"
                      f"{row['tokens_per_second']:12.0f} tokens/s{row['peak_mib']:10.0f} MiB", flush=True)
                rows.append(row)
            if mine and theirs:
                mine["speed_over_pytorch"] = theirs["ms_per_step"] / mine["ms_per_step"]
    departure = losses_agree(arguments)
    print(f"losses of {LOSS_STEPS} steps beside the CPU's: largest relative difference {departure}")
    has_failed = has_failed or departure is None or departure > LOSS_TOLERANCE
    pathlib.Path(arguments.out).write_text(
        json.dumps({"rows": rows, "loss_departure_from_cpu": departure}, indent=1) + "\n", encoding="utf-8")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
