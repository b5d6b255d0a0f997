#!/usr/bin/env python3
"""What a training run costs beside its speed: peak resident memory of each rank with checkpoints saved in the background,
seconds from the command to the begin of the first step, and the longest step beside a save; float32, next to PyTorch.

All systems run in turn, round by round. PyTorch saves nothing; it allocates with glibc's malloc, and is measured plain and,
from 2.0 on, with fused attention and AdamW. --before names another build folder (an older version's), whose programs run
in turn with this one's. Prints one table; --out writes it as JSON.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

from bench_common import (
    BIN, HERE, PYTHON, TORCH_SYSTEMS, clean_environment, end, free_port, median, note_failure, run, run_python_ranks,
    torch_version, torch_systems, write_record,
)

POLL_SECONDS = 0.01
MODELS = ("tiny", "small", "tutorial")


def command_of(programs, folder, model, world_size, options):
    """Of a run that saves in the background after every second step."""
    arguments = ["--model", model, "--steps", str(options.steps), "--save-every", "2", "--validate-every", "0"]
    arguments += ["--sample-tokens", "0", "--data", options.text, "--out", folder]
    if world_size == 1:
        return [os.path.join(programs, "train_gpt_single"), *arguments]
    launch = [os.path.join(programs, "lockstep"), "launch", "--nproc", str(world_size), "--"]
    return [*launch, os.path.join(programs, "train_gpt_ddp"), *arguments]


def threads_of(world_size):
    return max(1, os.cpu_count() // world_size)


def read_steps(folder):
    """The steps that are in metrics.jsonl."""
    lines = []
    for path in glob.glob(os.path.join(folder, "*", "metrics.jsonl")):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line for line in lines if "step_ms" in line]


def descendants(pid):
    """A process and all below it, as far as they are there."""
    found = [pid]
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                children = file.read().split()
        except OSError:
            continue
        for child in children:
            found += descendants(int(child))
    return found


def resident_pages(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1])
    except (OSError, IndexError):
        return 0


def kind_of(name, size):
    """Of a mapping. Tensors come from mappings of tens of MiB, shared ones are registered memory."""
    if "memfd:" in name or "/dev/shm" in name:
        return "shared_mib"
    if name.startswith("/"):
        return "program_mib"
    return "tensors_mib" if not name and size >= 32 << 20 else "heap_mib"


def what_is_resident(pid):
    """MiB of a process by kind of mapping."""
    kinds = dict.fromkeys(("tensors_mib", "shared_mib", "heap_mib", "program_mib"), 0.0)
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            fields = line.split(maxsplit=5)
            if "-" in fields[0]:
                begin, end = (int(address, 16) for address in fields[0].split("-"))
                kind = kind_of(fields[5].strip() if len(fields) > 5 else "", end - begin)
            elif fields[0] == "Rss:":
                kinds[kind] += int(fields[1]) / 1024
    return kinds


class PeakWatch:
    """Looks at the largest process of a job now and then; what it holds at its largest is in `kinds`."""

    def __init__(self):
        self.pages, self.kinds = 0, {}

    def look(self, job):
        pages, pid = max((resident_pages(pid), pid) for pid in descendants(job.pid))
        if pages < self.pages * 1.005:
            return
        try:
            self.kinds, self.pages = what_is_resident(pid), pages
        except OSError:
            pass  # it has just ended


def measure_ours(programs, model, world_size, options):
    """None where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(programs, folder, model, world_size, options)
        environment = clean_environment(OMP_NUM_THREADS=threads_of(world_size))
        begin = time.monotonic()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as job:
            first_end, watch = None, PeakWatch()
            while job.poll() is None:
                if first_end is None and read_steps(folder):
                    first_end = time.monotonic()
                if first_end is not None:
                    watch.look(job)
                time.sleep(POLL_SECONDS)
        steps = read_steps(folder)
    if job.returncode != 0 or len(steps) < options.steps or first_end is None:
        print(f"memory: {' '.join(command)} ended with {job.returncode} after {len(steps)} steps", file=sys.stderr)
        return None
    times = [step["step_ms"] for step in steps]
    return {
        "peaks_mib": steps[-1]["peak_memory_mib"],
        "start_s": first_end - begin - times[0] / 1e3,
        "median_ms": median(times[1:]),
        "longest_ms": max(times[1:]),
        "last_loss": steps[-1]["loss"],
        "at_peak": watch.kinds,
    }


def measure_torch(more, model, world_size):
    """Of rank 0, which has what every rank has; None where it failed."""
    script = os.path.join(HERE, "peers", "torch_gpt.py")
    threads = threads_of(world_size)
    arguments = ["--model", model, "--threads", str(threads), "--steps", "3", "--warm-up", "1", "--say-start", *more]
    begin = time.monotonic()
    if world_size == 1:
        text = run([*PYTHON, script, *arguments], OMP_NUM_THREADS=threads)
    else:
        text = run_python_ranks(script, world_size, free_port(), arguments, OMP_NUM_THREADS=threads)
    fields = text.strip().split(",")
    if len(fields) != 8:
        return None
    return {"peaks_mib": [float(fields[6])], "start_s": float(fields[7]) - begin,
            "median_ms": float(fields[4])}


def summarize(system, model, world_size, results):
    by_rank = [median(list(peaks)) for peaks in zip(*(result["peaks_mib"] for result in results))]
    names = [name for name in ("start_s", "median_ms", "longest_ms") if name in results[0]]
    return {
        "system": system,
        "model": model,
        "world_size": world_size,
        "threads": threads_of(world_size),
        "peak_mib_per_rank": max(by_rank),
        "least_peak_mib": min(by_rank),
        **{name: median([result[name] for result in results]) for name in names},
        **({"last_loss": results[-1]["last_loss"], **results[-1]["at_peak"]} if "last_loss" in results[-1] else {}),
    }


def compare(rows):
    """Ours beside PyTorch's as fast as it is, and beside its plain form."""
    for peer, key in (("PyTorch fast", "fast_pytorch"), ("PyTorch", "pytorch")):
        theirs = next((row for row in rows if row["system"] == peer), None)
        if not theirs:
            continue
        for row in rows:
            if row["system"] in TORCH_SYSTEMS:
                continue
            row[f"memory_over_{key}"] = row["peak_mib_per_rank"] / theirs["peak_mib_per_rank"]
            row[f"start_over_{key}"] = row["start_s"] / theirs["start_s"]


def print_table(rows):
    def number(row, name, digits):
        return f"{row[name]:.{digits}f}" if name in row else ""

    print(f"\n{'model':<9} {'ranks':>5} {'system':<13} {'MiB/rank':>9} {'least':>6} {'/PyTorch':>9} {'/fast':>6} {'start s':>8} "
          f"{'ms/step':>8} {'longest':>8}")
    for row in rows:
        print(f"{row['model']:<9} {row['world_size']:>5} {row['system']:<13} {row['peak_mib_per_rank']:>9.0f} "
              f"{row['least_peak_mib']:>6.0f} {number(row, 'memory_over_pytorch', 2):>9} "
              f"{number(row, 'memory_over_fast_pytorch', 2):>6} {number(row, 'start_s', 2):>8} "
              f"{number(row, 'median_ms', 0):>8} {number(row, 'longest_ms', 0):>8}", flush=True)


def write_text(path):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{i * 2654435761 % 99991} steps in lockstep\n" for i in range(40000))


def measure(model, world_size, options, ours, peers):
    results = {system: [] for system in [*ours, *peers]}
    for _ in range(options.rounds):
        for system in results:
            if system in ours:
                result = measure_ours(ours[system], model, world_size, options)
            else:
                result = measure_torch(TORCH_SYSTEMS[system], model, world_size)
            if result:
                results[system].append(result)
            else:
                note_failure(f"{model}, {world_size} x {threads_of(world_size)}, {system}")
    rows = [summarize(system, model, world_size, of_system) for system, of_system in results.items() if of_system]
    compare(rows)
    return rows


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--worlds", default="1,2", help="numbers of ranks")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", help="a build folder of an older version")
    parser.add_argument("--out")
    options = parser.parse_args()
    options.models = options.models.split(",")
    for model in options.models:
        if model not in MODELS:
            parser.error(f"'{model}' is none of {', '.join(MODELS)}")
    try:
        options.worlds = [int(world) for world in options.worlds.split(",")]
    except ValueError:
        parser.error(f"--worlds {options.worlds}: must be numbers with commas between them, for example 1,2")
    if min(options.worlds) < 1 or options.steps < 3 or options.rounds < 1:
        parser.error("--worlds and --rounds must be at least 1, --steps at least 3: the peak comes beside a save")
    return options


def main():
    options = parse_options()
    ours = {"lockstep": BIN}
    if options.before:
        ours = {"before": os.path.join(options.before, "bin"), **ours}
    version = torch_version()
    peers = torch_systems(version)
    print(f"beside PyTorch {version}" if version else "PyTorch is not installed: only ours is measured")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        options.text = os.path.join(folder, "text.txt")
        write_text(options.text)
        for model in options.models:
            for world_size in options.worlds:
                rows += measure(model, world_size, options, ours, peers)
                print_table([row for row in rows if (row["model"], row["world_size"]) == (model, world_size)])
    print_table(rows)
    if options.out:
        write_record(options.out, "memory and start of a training run, GPT-2 style, CPU, float32", rows,
                     rounds=options.rounds, pytorch=version or None)
    end()


main()
