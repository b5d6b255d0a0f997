#!/usr/bin/env python3
"""Tensor parallelism beside one process and beside DDP: time of a step, and memory of a rank.

One thread for each rank, so that a rank stands for a device, and the same global batch for all. Systems of a round follow
one another; medians of all rounds are compared. Speed is samples per second over those of one process.
"""
import argparse
import os
import tempfile

from bench_common import write_record
from training_common import make_text, measure_systems, models_named


def main():
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="small", help="tutorial takes about four minutes a round on two cores")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    models = models_named(parser, arguments.models)
    if not 2 <= arguments.world_size <= cores:
        parser.error(f"--world-size: from 2 to {cores}, the number of cores")
    size, divided = arguments.world_size, "train_gpt_tensor_parallel"
    systems = [("one process", 1, "train_gpt_single", []), ("DDP", size, "train_gpt_ddp", ["--check-replicas", "0"]),
               ("tensor", size, divided, [])]
    if "tutorial" not in models:  # its 127 positions cannot be divided
        systems.append(("tensor, sequence", size, divided, ["--sequence-parallel"]))
    with tempfile.TemporaryDirectory() as folder:
        rows = measure_systems(models, arguments.rounds, systems, make_text(folder))
    print(f"{'model':<9} {'system':<17} {'ms/step':>9} {'speed':>6} {'MiB a rank':>11}")
    for row in rows:
        print(f"{row['model']:<9} {row['system']:<17} {row['ms_per_step']:>9.1f} {row['speed']:>6.2f} {row['peak_mib']:>11.0f}")
    if arguments.out:
        write_record(arguments.out, f"tensor parallelism on {size} ranks, one thread each, CPU", rows)


main()
