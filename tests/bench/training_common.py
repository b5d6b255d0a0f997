"""Training runs of ours that several benchmarks time: models, texts, step times."""
import glob
import json
import os
import tempfile

from bench_common import BIN, median, note_failure, peak_mib_of

STEPS = {"tiny": 40, "small": 14, "tutorial": 6}
WARM_UP = {"tiny": 5, "small": 3, "tutorial": 2}
# vocabulary, width, layers, context, global batch
MODELS = {"tiny": (256, 128, 4, 128, 16), "small": (8192, 256, 6, 256, 8), "tutorial": (50257, 512, 6, 127, 32)}


def measure_ours(model, world_size, threads, steps, warm_up, text, more=(), program="train_gpt_ddp", **environment):
    """Median step time and peak memory of `train_gpt_single` or, on several ranks, `program`, from its metrics; None if
    it fails."""
    options = ["--model", model, "--steps", str(steps), "--validate-every", "0", "--save-every", "0"]
    options += ["--sample-tokens", "0", "--data", text, "--validation-data", validation_of(text), *more]
    with tempfile.TemporaryDirectory() as folder:
        options += ["--out", folder]
        if world_size == 1:
            command = [os.path.join(BIN, "train_gpt_single"), *options]
        else:
            launch = [os.path.join(BIN, "lockstep"), "launch", "--nproc", str(world_size), "--"]
            command = [*launch, os.path.join(BIN, program), *options]
        peak_mib = peak_mib_of(command, OMP_NUM_THREADS=threads, **environment)
        lines = []
        for path in glob.glob(os.path.join(folder, "*", "metrics.jsonl")):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
    lines = [line for line in lines if "step_ms" in line]
    if peak_mib is None or len(lines) < steps:
        return None
    return {
        "ms": median([line["step_ms"] for line in lines[warm_up:]]),
        "peak_mib": peak_mib,
        "exposed_ms": median([line.get("exposed_communication_ms", 0) for line in lines[warm_up:]]),
    }


def make_text(folder):
    """Bytes enough for every configuration; what they say does not matter to the time a step takes. The last step is
    followed by an evaluation, which is not timed: a short text for that is beside the other one."""
    path = os.path.join(folder, "text.txt")
    for name, lines in ((path, 40000), (validation_of(path), 200)):
        with open(name, "w", encoding="ascii") as file:
            for i in range(lines):
                file.write(f"{i * 2654435761 % 99991} steps in lockstep\n")
    return path


def validation_of(text):
    return os.path.join(os.path.dirname(text), "validation.txt")


def measure_systems(models, rounds, systems, text, more=(), **environment):
    """Rows of medians, for each model and each of the `systems`: (name, ranks, program, options). Systems of a round follow
    one another, so that a busy minute meets all of them. `speed` is relative to the first system, and None if that could
    not be measured. What fails is noted."""
    results = {}
    for model in models:
        for _ in range(rounds):
            for name, size, program, own in systems:
                options = ["--batch-size", str(MODELS[model][-1]), *more, *own]
                measured = measure_ours(
                    model, size, 1, STEPS[model], WARM_UP[model], text, options, program=program, **environment
                )
                if measured:
                    results.setdefault((model, name), []).append(measured)
                else:
                    note_failure(f"{model}, {name}")
    rows, base = [], systems[0][0]
    for (model, name), values in results.items():
        rows.append({"model": model, "system": name, "ms_per_step": median([v["ms"] for v in values]),
                     "exposed_ms": median([v["exposed_ms"] for v in values]),
                     "peak_mib": median([v["peak_mib"] for v in values])})
        base_ms = median([v["ms"] for v in results.get((model, base), [])])
        rows[-1]["speed"] = base_ms / rows[-1]["ms_per_step"] if base_ms else None
    return rows


def ratio(value):
    """A factor in a table; empty if there is none."""
    return "" if value is None else f"{value:.2f}"


def models_named(parser, names):
    """The models of a comma-separated list; ends the program if there is none of that name."""
    models = names.split(",")
    for model in models:
        if model not in MODELS:
            parser.error(f"'{model}' is none of {', '.join(MODELS)}")
    return models
