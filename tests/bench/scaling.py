#!/usr/bin/env python3
"""Scaling of DDP training on this machine: one thread for each rank, so that a rank stands for a device.

"strong": the global batch stays the same, so each rank gets less of it; "weak": each rank's batch stays the same, so the
global batch grows. Speed is samples per second over that of one rank; efficiency is speed over ranks. Between the ranks:
shared memory, or TCP over loopback, as between hosts. Configurations of a round follow one another, and medians of all
rounds are compared. More ranks than cores measure the scheduler: they are refused.
"""
import argparse
import os
import tempfile

from bench_common import end, median, note_failure, write_record
from training_common import MODELS, STEPS, WARM_UP, make_text, measure_ours, ratio

TRANSPORTS = {"shared_memory": {}, "tcp": {"LOCKSTEP_TRANSPORT": "tcp"}}


def rows_of(results):
    rows = []
    for (model, kind, world_size, transport, batch), values in results.items():
        ms = median([value["ms"] for value in values])
        rows.append(
            {
                "model": model,
                "scaling": kind,
                "world_size": world_size,
                "transport": transport,
                "global_batch": batch,
                "ms_per_step": ms,
                "exposed_ms": median([value["exposed_ms"] for value in values]),
                "samples_per_second": batch / ms * 1e3,
            }
        )
    for row in rows:
        alone = next((r for r in rows if r["model"] == row["model"] and r["world_size"] == 1), None)
        row["speed"] = row["samples_per_second"] / alone["samples_per_second"] if alone else None
        row["efficiency_percent"] = 100 * row["speed"] / row["world_size"] if alone else None
        row["exposed_percent"] = 100 * row["exposed_ms"] / row["ms_per_step"]
    return rows


def main():
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="tiny,small", help="tutorial takes about ten minutes a round on two cores")
    parser.add_argument("--world-sizes", default=",".join(str(n) for n in (2, 4, 8, 16) if n <= cores))
    parser.add_argument("--transports", default=",".join(TRANSPORTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    models, transports = arguments.models.split(","), arguments.transports.split(",")
    for name, known in [(model, MODELS) for model in models] + [(transport, TRANSPORTS) for transport in transports]:
        if name not in known:
            parser.error(f"'{name}' is none of {', '.join(known)}")
    world_sizes = [int(size) for size in arguments.world_sizes.split(",") if size]
    if not world_sizes or not all(2 <= size <= cores for size in world_sizes):
        parser.error(f"--world-sizes: from 2 to {cores}, the number of cores")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        text = make_text(folder)
        for model in models:
            batch = MODELS[model][-1]
            cases = [("single", 1, "none", batch)]
            for size in world_sizes:
                cases += [("strong", size, transport, batch) for transport in transports]
                cases += [("weak", size, transport, batch * size) for transport in transports]
            for _ in range(arguments.rounds):
                for kind, size, transport, samples in cases:
                    more = ["--batch-size", str(samples)]
                    environment = TRANSPORTS.get(transport, {})
                    measured = measure_ours(model, size, 1, STEPS[model], WARM_UP[model], text, more, **environment)
                    if measured:
                        results.setdefault((model, kind, size, transport, samples), []).append(measured)
                    else:
                        note_failure(f"{model}, {kind}, {size} ranks, {transport}" if size > 1 else f"{model}, one rank")
    rows = rows_of(results)
    print(f"{'model':<9} {'scaling':<7} {'ranks':>5} {'between them':<13} {'batch':>5} {'ms/step':>9} {'exposed':>8} {'speed':>6} {'efficiency':>10}")
    for row in rows:
        efficiency = f"{row['efficiency_percent']:.0f} %" if row["speed"] else ""
        print(f"{row['model']:<9} {row['scaling']:<7} {row['world_size']:>5} {row['transport']:<13} {row['global_batch']:>5} "
              f"{row['ms_per_step']:>9.1f} {row['exposed_percent']:>6.1f} % {ratio(row['speed']):>6} {efficiency:>10}")
    if arguments.out:
        write_record(arguments.out, "scaling of train_gpt_ddp, one thread for each rank, CPU", rows)
    end()


main()
