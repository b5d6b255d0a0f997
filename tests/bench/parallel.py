#!/usr/bin/env python3
"""Tensor and pipeline parallelism, alone and in a grid, beside one process and DDP: step time, memory, and bubbles.

One thread for each rank, so that a rank stands for a device, and the same global batch for all. Systems of a round follow
one another; medians of all rounds are compared. Speed is samples per second over those of one process. Then the bubble of
each schedule, with stages that sleep instead of computing, beside what the schedule says: idle time per busy time.

A grid of 2 x 2 x 2 ranks is compared with DDP on as many. On fewer cores than ranks, only their ratio says something.
"""
import argparse
import json
import os
import tempfile

from bench_common import BIN, end, median, note_failure, run, write_record
from training_common import make_text, measure_systems, models_named, ratio

BUBBLE_RANKS = (2, 4)
GRID_RANKS = 8
TOLERANCE = 0.1  # of the formula


def systems_of(size, models):
    divided, staged = "train_gpt_tensor_parallel", "train_gpt_pipeline"
    systems = [("one process", 1, "train_gpt_single", []), ("DDP", size, "train_gpt_ddp", ["--check-replicas", "0"]),
               ("tensor", size, divided, [])]
    if "tutorial" not in models:  # its 127 positions cannot be divided
        systems.append(("tensor, sequence", size, divided, ["--sequence-parallel"]))
    for schedule in ("1f1b", "naive"):
        systems.append((f"pipeline, {schedule}", size, staged, ["--pipeline-schedule", schedule, "--accumulation-steps", "8"]))
    if size == 2 and "small" in models:  # its head takes as long as three of its six blocks
        systems.append(("pipeline, 4 + 2 blocks", size, staged, ["--last-stage-blocks", "2", "--accumulation-steps", "8"]))
    systems.append((f"DDP, {GRID_RANKS} ranks", GRID_RANKS, "train_gpt_ddp", ["--check-replicas", "0"]))
    systems.append(("grid 2 x 2 x 2", GRID_RANKS, "train_gpt_3d",
                    ["--tensor", "2", "--pipeline", "2", "--accumulation-steps", "4", "--check-replicas", "0"]))
    return systems


def measure_bubbles(rounds):
    """A row for each schedule, with the median of the rounds."""
    measured = {}
    for _ in range(rounds):
        for ranks in BUBBLE_RANKS:
            launch = [os.path.join(BIN, "lockstep"), "launch", "--nproc", str(ranks), "--no-prefix", "--"]
            lines = run([*launch, os.path.join(BIN, "pipeline_bench")], timeout=120).splitlines()
            if not lines:
                note_failure(f"bubbles of {ranks} ranks")
            for line in lines:
                row = json.loads(line)
                measured.setdefault((ranks, row["schedule"], row["micro_batches"]), []).append(row)
    return [{**rows[0], "idle_per_busy": median([row["idle_per_busy"] for row in rows])} for rows in measured.values()]


def print_bubbles(rows):
    """Whether each is as expected."""
    print(f"\n{'ranks':>5} {'schedule':<9} {'micro-batches':>13} {'idle/busy':>10} {'expected':>9}")
    are_right = len(rows) > 0
    for row in rows:
        is_right = abs(row["idle_per_busy"] / row["expected"] - 1) <= TOLERANCE
        are_right &= is_right
        print(f"{row['ranks']:>5} {row['schedule']:<9} {row['micro_batches']:>13} {row['idle_per_busy']:>10.3f} "
              f"{row['expected']:>9.3f}{'' if is_right else '  more than 10 % apart'}")
    return are_right


def main():
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="small", help="tutorial takes about six minutes a round on two cores")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bubbles-only", action="store_true", help="leave out the models")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    models = models_named(parser, arguments.models)
    if not 2 <= arguments.world_size <= cores:
        parser.error(f"--world-size: from 2 to {cores}, the number of cores")
    size, rows = arguments.world_size, []
    if not arguments.bubbles_only:
        with tempfile.TemporaryDirectory() as folder:
            rows = measure_systems(models, arguments.rounds, systems_of(size, models), make_text(folder))
        print(f"{'model':<9} {'system':<22} {'ms/step':>9} {'speed':>6} {'idle ms':>8} {'MiB a rank':>11}")
    for row in rows:
        print(f"{row['model']:<9} {row['system']:<22} {row['ms_per_step']:>9.1f} {ratio(row['speed']):>6} "
              f"{row['exposed_ms']:>8.1f} {row['peak_mib']:>11.0f}")
    bubbles = measure_bubbles(arguments.rounds)
    are_right = print_bubbles(bubbles)
    if arguments.out:
        title = f"tensor and pipeline parallelism on {size} ranks, one thread each, CPU"
        write_record(arguments.out, title, rows, bubbles=bubbles)
    if not are_right:
        note_failure("bubbles as they are expected")
    end()


main()
