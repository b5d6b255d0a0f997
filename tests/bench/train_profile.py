#!/usr/bin/env python3
"""Where the time of a training step goes on this machine: samples of a process that runs whole steps, by part.

Uses `perf` (apt-get install linux-perf) on `train_step_bench`: one process, as many threads as it has cores, loss,
backward, clipping, AdamW, no evaluation. Code that oneDNN writes at run time is all matrix products. The first steps,
which set memory up, are in the sample.

Prints one table; --out writes it as JSON.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from bench_common import BIN, clean_environment, end, note_failure, write_record

# What a symbol belongs to: the first pattern that is found in "library symbol". The rest is "other".
PARTS = [
    ("system: pages, switches", r"kernel\.kallsyms|\[k\]"),
    ("matrix products", r"\[JIT\]|libdnnl|run_packing|gemm|Eigen"),
    ("attention beside oneDNN", r"attention|tile_product|causal|pack<"),
    ("loss", r"cross_entropy|row_loss|sum_of_exponentials|softmax"),
    ("GELU", r"gelu"),
    ("layer norm", r"layer_norm"),
    ("bias gradients", r"bias|column_sums"),
    ("AdamW, clipping", r"adam_step|squared_norm|is_finite"),
    ("embedding", r"embedding"),
    ("initial values, tokens", r"InitScope|sincos|libm\.so|philox|random"),
    ("copies, casts, sums", r"memmove|memcpy|memset|cast|scale|add<|copy"),
    ("threads waiting", r"libgomp|sched_yield|futex"),
]


def part_of(library_and_symbol):
    for name, pattern in PARTS:
        if re.search(pattern, library_and_symbol):
            return name
    return "other"


def profile(model, precision, steps, threads):
    """Shares of the samples by part, largest first; None where perf does not work."""
    if not os.path.exists(os.path.join(BIN, "train_step_bench")):
        sys.exit("train_profile: build it first: cmake --build --preset cpu --target train_step_bench")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        program = [os.path.join(BIN, "train_step_bench"), model, str(steps), precision]
        environment = clean_environment(OMP_NUM_THREADS=threads, OMP_WAIT_POLICY="passive")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "-o", data, "--", *program]
        done = subprocess.run(record, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"train_profile: perf: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        report = ["perf", "report", "-i", data, "--stdio", "-g", "none", "--sort", "dso,symbol", "-F", "overhead,dso,symbol"]
        text = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    shares = {}
    for line in text.splitlines():
        match = re.match(r"\s*([0-9.]+)%\s+(.*)", line)
        if match:
            name = part_of(match.group(2))
            shares[name] = shares.get(name, 0.0) + float(match.group(1))
    return sorted(shares.items(), key=lambda item: -item[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="tiny,small,tutorial")
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    steps = {"tiny": 60, "small": 12, "tutorial": 3, "124m": 1}
    threads = os.cpu_count()
    rows = []
    for model in arguments.models.split(","):
        if model not in steps:
            parser.error(f"'{model}' is none of {', '.join(steps)}")
        for precision in arguments.precision.split(","):
            shares = profile(model, precision, steps[model], threads)
            if shares is None:
                note_failure(f"{model}, {precision}: needs perf (apt-get install linux-perf) and leave to use it")
                continue
            for name, share in shares:
                rows.append({"model": model, "precision": precision, "threads": threads, "part": name, "share_percent": round(share, 1)})
    columns = [(m, p) for m in arguments.models.split(",") for p in arguments.precision.split(",")]
    share_of = {(row["model"], row["precision"], row["part"]): row["share_percent"] for row in rows}
    names = sorted({row["part"] for row in rows}, key=lambda name: -max(share_of.get((*c, name), 0) for c in columns))
    print(f"{'% of samples':<26}" + "".join(f"{model + ' ' + precision:>15}" for model, precision in columns))
    for name in names:
        print(f"{name:<26}" + "".join(f"{share_of.get((*column, name), 0):>15.1f}" for column in columns))
    if arguments.out:
        write_record(arguments.out, "where the time of a training step goes, CPU", rows)
    end()


main()
