#!/usr/bin/env python3
"""The stages of ZeRO beside one process and beside DDP: time of a step, and memory of a rank.

One thread for each rank, so that a rank stands for a device, and the same global batch for all. Systems of a round follow
one another; medians of all rounds are compared. Speed is samples per second over those of one process.
"""
import argparse
import os
import tempfile

from bench_common import end, write_record
from training_common import make_text, measure_systems, models_named, ratio

STAGES = {"DDP": "0", "ZeRO 1": "1", "ZeRO 2": "2", "ZeRO 3": "3"}


def main():
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="small", help="tutorial takes about five minutes a round on two cores")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--transport", default="shared_memory", choices=["shared_memory", "tcp"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    models = models_named(parser, arguments.models)
    if not 2 <= arguments.world_size <= cores:
        parser.error(f"--world-size: from 2 to {cores}, the number of cores")
    environment = {"LOCKSTEP_TRANSPORT": "tcp"} if arguments.transport == "tcp" else {}
    systems = [("one process", 1, "train_gpt_single", [])]
    systems += [(name, arguments.world_size, "train_gpt_sharded", ["--zero", z]) for name, z in STAGES.items()]
    with tempfile.TemporaryDirectory() as folder:
        rows = measure_systems(
            models, arguments.rounds, systems, make_text(folder), ["--check-replicas", "0"], **environment
        )
    print(f"{'model':<9} {'system':<12} {'ms/step':>9} {'exposed':>9} {'speed':>6} {'of DDP':>7} {'MiB a rank':>11}")
    for row in rows:
        ddp = next((r for r in rows if (r["model"], r["system"]) == (row["model"], "DDP")), None)
        row["of_ddp"] = ddp["ms_per_step"] / row["ms_per_step"] if ddp else None
        print(f"{row['model']:<9} {row['system']:<12} {row['ms_per_step']:>9.1f} {row['exposed_ms']:>9.1f} "
              f"{ratio(row['speed']):>6} {ratio(row['of_ddp']):>7} {row['peak_mib']:>11.0f}")
    if arguments.out:
        write_record(arguments.out, f"stages of ZeRO on {arguments.world_size} ranks, one thread each, CPU", rows,
                     transport=arguments.transport)
    end()


main()
