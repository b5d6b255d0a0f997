#!/usr/bin/env python3
"""Training on this machine: ours beside PyTorch, same model, same global batch, interleaved in one run.

Each configuration is measured in float32 and in bfloat16 (ours with --bf16, PyTorch under torch.autocast), as one process
with all cores and as one process per core (DDP). PyTorch runs without presets that slow its OpenBLAS down, with the
OpenMP build of OpenBLAS and with jemalloc where they are installed (apt-get install libopenblas0-openmp libjemalloc2).

From 2.0 on PyTorch is measured plain and with fused attention and AdamW. Ours also as a share of the machine's
multiply-add peak in float32, measured in the same run.

Prints one table; --out writes it as JSON. Without PyTorch (apt-get install python3-torch) only ours is measured.
"""
import argparse
import glob
import os
import tempfile

from bench_common import (
    BIN, HERE, PYTHON, TORCH_SYSTEMS, end, free_port, median, note_failure, run, run_python_ranks, torch_systems, torch_version,
    write_record,
)
from training_common import MODELS, STEPS, WARM_UP, make_text, measure_ours

# Seconds of a PyTorch step in float32 on two cores of 2024; for estimating how long a run takes, nothing else.
SECONDS_PER_STEP = {"tiny": 0.06, "small": 0.36, "tutorial": 3.2}
SECONDS_TO_START = 6

# As PyTorch's process sees it: PYTHON may be "chroot FOLDER ...".
LIBRARIES = (PYTHON[1] if PYTHON[0] == "chroot" else "") + "/usr/lib/x86_64-linux-gnu"


def peer_settings():
    """What makes PyTorch faster and is installed here: environment variables, and their names in words."""
    environment, names = {}, []
    if os.path.exists(f"{LIBRARIES}/libjemalloc.so.2"):
        environment["LD_PRELOAD"] = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
        environment["MALLOC_CONF"] = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always"
        names.append("jemalloc")
    if os.path.isdir(f"{LIBRARIES}/openblas-openmp"):
        environment["LD_LIBRARY_PATH"] = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
        names.append("OpenBLAS with OpenMP")
    elif not glob.glob(f"{LIBRARIES}/openblas*"):
        names.append("the reference BLAS, which is many times slower (apt-get install libopenblas0-openmp)")
    return environment, names


def measure_torch(case, more, steps, warm_up):
    model, precision, world_size, threads = case
    script = os.path.join(HERE, "peers", "torch_gpt.py")
    arguments = ["--model", model, "--threads", str(threads), "--steps", str(steps), "--warm-up", str(warm_up)]
    arguments += more + (["--bf16"] if precision == "bf16" else [])
    environment = {"OMP_NUM_THREADS": threads, **peer_settings()[0]}
    if world_size == 1:
        text = run([*PYTHON, script, *arguments], **environment)
    else:
        text = run_python_ranks(script, world_size, free_port(), arguments, **environment)
    fields = text.strip().split(",")
    if len(fields) != 7:
        return None
    return {"ms": float(fields[4]), "peak_mib": float(fields[6]), "exposed_ms": None}


def steps_of(model, arguments):
    """How many steps are run, and how many of them are not measured."""
    if not arguments.steps:
        return STEPS[model], WARM_UP[model]
    return arguments.steps, min(WARM_UP[model], arguments.steps - 1)


def estimated_minutes(arguments, models, precisions, layouts, systems):
    """Ours is taken to be as slow as PyTorch, and bfloat16 as float32: the run ends earlier."""
    one_round = sum(steps_of(model, arguments)[0] * SECONDS_PER_STEP[model] + SECONDS_TO_START for model in models)
    return one_round * len(precisions) * len(layouts) * systems * arguments.rounds / 60


def flop_per_token(model):
    """6 N for the products of forward and backward, and 6 layers x context x width for causal attention."""
    vocabulary, width, layers, context, _ = MODELS[model]
    parameters = (vocabulary + context) * width + layers * (12 * width + 13) * width + 2 * width
    return 6 * parameters + 6 * layers * context * width


def multiply_add_peak(threads):
    """GFLOP/s in float32 that this many threads reach on registers alone; None where kernels_bench is not built."""
    program = os.path.join(BIN, "kernels_bench")
    text = run([program, "peak"], OMP_NUM_THREADS=threads) if os.path.exists(program) else ""
    return float(text) if text else None


def table_rows(results, peaks):
    rows = []
    for (model, precision, world_size, threads, system), values in results.items():
        *_, context, batch = MODELS[model]
        ms = median([value["ms"] for value in values])
        exposed = [value["exposed_ms"] for value in values if value["exposed_ms"] is not None]
        rows.append(
            {
                "model": model,
                "precision": precision,
                "world_size": world_size,
                "threads": threads,
                "system": system,
                "ms_per_step": ms,
                "tokens_per_second": context * batch / ms * 1e3,
                "peak_mib_per_rank": median([value["peak_mib"] for value in values]),
                "exposed_communication_ms": median(exposed),
            }
        )
    for row in rows:
        row["speed_over_best_pytorch"] = row["memory_over_pytorch"] = row["share_of_peak"] = None
        if row["system"] != "lockstep":
            continue
        peak = peaks.get(row["world_size"] * row["threads"])
        if peak and row["precision"] == "fp32":
            row["share_of_peak"] = row["tokens_per_second"] * flop_per_token(row["model"]) / (peak * 1e9)
        same = [r for r in rows if all(r[k] == row[k] for k in ("model", "precision"))]
        peers = [r for r in same if r["system"] in TORCH_SYSTEMS]
        if not peers:
            continue
        row["speed_over_best_pytorch"] = row["tokens_per_second"] / max(r["tokens_per_second"] for r in peers)
        alike = [peer["peak_mib_per_rank"] for peer in peers if peer["world_size"] == row["world_size"]]
        if alike:
            row["memory_over_pytorch"] = row["peak_mib_per_rank"] / min(alike)
    return rows


def print_table(rows):
    def ratio(value):
        return f"{value:.2f}" if value else ""

    print(f"\n{'model':<9} {'numbers':<7} {'ranks x threads':<16} {'system':<13} {'ms/step':>9} {'tokens/s':>9} "
          f"{'MiB/rank':>9} {'speed/best PyTorch':>19} {'memory/PyTorch':>15} {'of peak':>8}")
    for row in rows:
        print(f"{row['model']:<9} {row['precision']:<7} {row['world_size']} x {row['threads']:<12} {row['system']:<13} "
              f"{row['ms_per_step']:>9.1f} {row['tokens_per_second']:>9.0f} {row['peak_mib_per_rank']:>9.0f} "
              f"{ratio(row['speed_over_best_pytorch']):>19} {ratio(row['memory_over_pytorch']):>15} {ratio(row['share_of_peak']):>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="tiny,small,tutorial")
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--layouts", default="1x2,2x1", help="ranks x threads, for example 1x2,2x1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="of each measurement (what suits the model if left out)")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    models, precisions = arguments.models.split(","), arguments.precision.split(",")
    for name, known in [(model, STEPS) for model in models] + [(p, ("fp32", "bf16")) for p in precisions]:
        if name not in known:
            parser.error(f"'{name}' is none of {', '.join(known)}")
    version = torch_version()
    torch = torch_systems(version)
    if not torch:
        print("PyTorch is not installed: only ours is measured")
    else:
        print(f"PyTorch {version} runs with", " and ".join(peer_settings()[1]) or "nothing but what Debian installs with it")
    layouts = [tuple(map(int, layout.split("x"))) for layout in arguments.layouts.split(",")]
    minutes = estimated_minutes(arguments, models, precisions, layouts, 1 + len(torch))
    print(f"this takes about {minutes:.0f} minutes on two quiet cores", flush=True)
    peaks = {count: multiply_add_peak(count) for count in sorted({ranks * threads for ranks, threads in layouts})}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        text = make_text(folder)
        for model in models:
            steps, warm_up = steps_of(model, arguments)
            for _ in range(arguments.rounds):
                for case in [(model, precision, *layout) for precision in precisions for layout in layouts]:
                    more = ["--bf16"] if case[1] == "bf16" else []
                    measured = {"lockstep": measure_ours(case[0], *case[2:], steps, warm_up, text, more)}
                    for system in torch:
                        measured[system] = measure_torch(case, TORCH_SYSTEMS[system], steps, warm_up)
                    for system, result in measured.items():
                        if result:
                            results.setdefault((*case, system), []).append(result)
                        else:
                            note_failure(f"{model}, {case[1]}, {case[2]} x {case[3]}, {system}")
    rows = table_rows(results, peaks)
    print_table(rows)
    if arguments.out:
        write_record(arguments.out, "training step, GPT-2 style, CPU", rows, pytorch=version or None,
                     pytorch_runs_with=peer_settings()[1], multiply_add_peak_gflop_s=peaks)
    end()


main()
