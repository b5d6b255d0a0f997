#!/usr/bin/env python3
"""What a training run costs beside its speed: peak resident memory of each rank with checkpoints saved in the background,
seconds from the command to the first step, and the longest step beside a save; float32, next to PyTorch's memory.

--before names another build folder (an older version's), whose programs run in turn with this one's. Prints one table;
--out writes it as JSON.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

from bench_common import BIN, HERE, clean_environment, free_port, has_torch, median, run, run_python_ranks, write_record

POLL_SECONDS = 0.01


def command_of(folder, model, world_size, options):
    """Of a run that saves in the background after every second step."""
    arguments = ["--model", model, "--steps", str(options.steps), "--save-every", "2", "--validate-every", "0"]
    arguments += ["--sample-tokens", "0", "--data", options.text, "--out", folder]
    if world_size == 1:
        return ["train_gpt_single", *arguments]
    return ["lockstep", "launch", "--nproc", str(world_size), "--", "train_gpt_ddp", *arguments]


def read_steps(folder):
    """The steps that are in metrics.jsonl."""
    lines = []
    for path in glob.glob(os.path.join(folder, "*", "metrics.jsonl")):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line for line in lines if "step_ms" in line]


def measure_ours(programs, model, world_size, options):
    threads = max(1, os.cpu_count() // world_size)
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(programs, word) if word in ("lockstep", "train_gpt_single", "train_gpt_ddp") else word
                   for word in command_of(folder, model, world_size, options)]
        begin = time.monotonic()
        job = subprocess.Popen(command, env=clean_environment(OMP_NUM_THREADS=threads), stdout=subprocess.DEVNULL)
        first_end = None
        while job.poll() is None:
            if first_end is None and read_steps(folder):
                first_end = time.monotonic()
            time.sleep(POLL_SECONDS)
        steps = read_steps(folder)
    if job.returncode != 0 or len(steps) < options.steps or first_end is None:
        sys.exit(f"memory: {' '.join(command)} ended with {job.returncode} after {len(steps)} steps")
    times = [step["step_ms"] for step in steps]
    return {
        "peak_mib_by_rank": steps[-1]["peak_memory_mib"],
        "start_s": first_end - begin - times[0] / 1e3,
        "median_ms": median(times[1:]),
        "longest_ms": max(times[1:]),
        "last_loss": steps[-1]["loss"],
    }


def torch_peak_mib(model, world_size):
    """Of its largest rank; None where it failed."""
    script = os.path.join(HERE, "peers", "torch_gpt.py")
    threads = max(1, os.cpu_count() // world_size)
    arguments = ["--model", model, "--threads", str(threads), "--steps", "2", "--warm-up", "1"]
    if world_size == 1:
        text = run(["/usr/bin/python3", script, *arguments], OMP_NUM_THREADS=threads)
    else:
        text = run_python_ranks(script, world_size, free_port(), arguments, OMP_NUM_THREADS=threads)
    fields = text.strip().split(",")
    return float(fields[6]) if len(fields) == 7 else None


def summarize(system, model, world_size, results, torch_mib):
    by_rank = [median(list(peaks)) for peaks in zip(*(result["peak_mib_by_rank"] for result in results))]
    return {
        "system": system,
        "model": model,
        "world_size": world_size,
        "peak_mib_per_rank": max(by_rank),
        "least_peak_mib": min(by_rank),
        "memory_over_pytorch": max(by_rank) / torch_mib if torch_mib else None,
        **{name: median([result[name] for result in results]) for name in ("start_s", "median_ms", "longest_ms")},
        "last_loss": results[-1]["last_loss"],
    }


def print_table(rows):
    print(f"\n{'model':<9} {'ranks':>5} {'system':<9} {'MiB/rank':>9} {'least':>6} {'/PyTorch':>9} {'start s':>8} "
          f"{'ms/step':>8} {'longest':>8}")
    for row in rows:
        ratio = f"{row['memory_over_pytorch']:.2f}" if row["memory_over_pytorch"] else ""
        print(f"{row['model']:<9} {row['world_size']:>5} {row['system']:<9} {row['peak_mib_per_rank']:>9.0f} "
              f"{row['least_peak_mib']:>6.0f} {ratio:>9} {row['start_s']:>8.2f} {row['median_ms']:>8.0f} {row['longest_ms']:>8.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="small,tutorial")
    parser.add_argument("--worlds", default="1,2")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", help="a build folder of an older version")
    parser.add_argument("--out")
    options = parser.parse_args()
    systems = {"lockstep": BIN}
    if options.before:
        systems = {"before": os.path.join(options.before, "bin"), **systems}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        options.text = os.path.join(folder, "text.txt")
        with open(options.text, "w", encoding="ascii") as file:
            file.writelines(f"{i * 2654435761 % 99991} steps in lockstep\n" for i in range(40000))
        for model in options.models.split(","):
            for world_size in map(int, options.worlds.split(",")):
                results = {system: [] for system in systems}
                for _ in range(options.rounds):
                    for system, programs in systems.items():
                        results[system].append(measure_ours(programs, model, world_size, options))
                torch_mib = torch_peak_mib(model, world_size) if has_torch() else None
                rows += [summarize(system, model, world_size, results[system], torch_mib) for system in systems]
                print_table(rows[-len(systems):])
    print_table(rows)
    if options.out:
        write_record(options.out, "memory and start of a training run, GPT-2 style, CPU, float32", rows, rounds=options.rounds)


main()
