"""Training on the GPU: does it train, do its losses equal the CPU's, how fast is it beside PyTorch?"""
import json
import math
import pathlib
import statistics
import sys

from runner import OutOfTime, Step, StepFailed, StepSkipped

VOCABULARY = 50304  # GPT-2's 50257, rounded up to whole tiles
WARM_UP = 5  # steps that are not timed
# Two runs of one training in float32 agree in this many steps to a few parts in 10^5; chance takes over later.
LOSS_STEPS, LOSS_TOLERANCE = 10, 1e-3


def runs_of(job, device, label=""):
    return job.runner.results.scratch / "runs" / f"{job.record['name']}_{device}{label}"


def train(job, device, model, steps, *options, label=""):
    """The lines of metrics.jsonl: all of them, or those that were written before the run was ended.

    A step with several training runs gives each run a label."""
    out = runs_of(job, device, label)
    command = [job.program("train_gpt_single"), "--device", device, "--model", model, "--steps", steps, "--out", out]
    command += ["--validate-every", "0", "--save-every", "0", "--sample-tokens", "0", *options]
    done = job.run(command)
    lines = [json.loads(line) for file in sorted(out.glob("*/metrics.jsonl"))
             for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    if done.status is None:
        raise OutOfTime(f"ended at its limit, after {len(lines)} of {steps} steps")
    if done.status != 0:
        raise StepFailed(f"train_gpt_single ended with {done.status}: {done.output.strip()[-300:]}")
    if len(lines) != steps:
        raise StepFailed(f"metrics.jsonl has {len(lines)} of {steps} steps")
    return lines


def speed(system, lines, batch, precision):
    milliseconds = statistics.median(line["step_ms"] for line in lines[WARM_UP:])
    return {"system": system, "batch_size": batch, "precision": precision, "ms_per_step": round(milliseconds, 2),
            "tokens_per_s": round(lines[-1]["tokens"] / milliseconds * 1e3), "peak_mib": max(lines[-1]["peak_memory_mib"])}


def options_124m(batch, precision):
    # Tokens that cost nothing to read and exist in any number.
    return ["--data", "random", "--batch-size", batch, "--vocabulary-size", VOCABULARY, "--clip", "1",
            *(["--bf16"] if precision == "bf16" else [])]


def ten_steps(job):
    lines = train(job, "cuda", "124m", 10, *options_124m(8, "bf16"))
    for line in lines:
        job.emit({"step": line["step"], "loss": line["loss"], "gradient_norm": line["gradient_norm"],
                  "ms": line["step_ms"], "peak_mib": max(line["peak_memory_mib"])})
    first = lines[0]["loss"]
    if not all(math.isfinite(line["loss"]) for line in lines):
        raise StepFailed("a loss is not finite")
    # Untrained, the model gives every token about the same probability.
    if abs(first - math.log(VOCABULARY)) > 0.5:
        raise StepFailed(f"the first loss is {first:.3f}, not near ln {VOCABULARY} = {math.log(VOCABULARY):.3f}")


def losses_beside_cpu(job):
    """The tiny model's first steps on the GPU and on the CPU, same weights and batches."""
    curves = [[line["loss"] for line in train(job, device, "tiny", LOSS_STEPS, "--seed", 1)] for device in ("cuda", "cpu")]
    departure = max(abs(a - b) / b for a, b in zip(*curves))
    job.emit({"largest_relative_difference": departure, "cuda": curves[0], "cpu": curves[1]})
    if departure > LOSS_TOLERANCE:
        raise StepFailed(f"losses depart from the CPU's by {departure:.2g} of their value")


def ours(batch, precision):
    def body(job):
        job.emit(speed("lockstep", train(job, "cuda", "124m", 20, *options_124m(batch, precision)), batch, precision))

    return Step(f"lockstep_{precision}_{batch}", 100, body)


def algorithms(batch, precision):
    """The library's suggestions for products against the fastest ones, in turn, and with the table that was found."""

    def body(job):
        table = None
        for label, algorithm in [("first", "first"), ("timed", "timed"), ("first_again", "first"), ("given", None)]:
            options = [*options_124m(batch, precision), "--matmul-algorithms", algorithm or table]
            lines = train(job, "cuda", "124m", 20, *options, label=f"_{label}")
            tables = sorted(runs_of(job, "cuda", f"_{label}").glob("*/matmul_algorithms.txt"))
            table = tables[-1] if tables else table
            if label == "timed" and table is None:
                raise StepFailed("the timed run has written no matmul_algorithms.txt")
            job.emit({**speed(label, lines, batch, precision), "first_step_ms": lines[0]["step_ms"],
                      "last_loss": lines[-1]["loss"]})
        job.emit({"products": len(table.read_text(encoding="utf-8").splitlines()) - 2})

    return Step(f"algorithms_{precision}_{batch}", 100, body)


def torch_command(batch, precision, *options):
    command = [sys.executable, pathlib.Path(__file__).with_name("torch_gpt.py"), "--device", "cuda", "--model", "124m",
               "--batch-size", batch, "--vocabulary", VOCABULARY, *options]
    return command + (["--bf16"] if precision == "bf16" else [])


def require_pytorch(job):
    if job.run([sys.executable, "-c", "import torch"], 60).status != 0:
        raise StepSkipped(f"PyTorch is not installed for {sys.executable}")


def compile_ahead():
    """torch.compile keeps what it has compiled on disk: made beside other steps, it costs the timed ones nothing."""

    def body(job):
        require_pytorch(job)
        for batch in (32, 64):
            job.check(torch_command(batch, "bf16", "--steps", 2, "--warm-up", 1))

    return Step("compile_pytorch", 200, body, is_timed=False)


def pytorch(batch, precision, *options):
    """PyTorch, with fused attention and AdamW, compiled unless `options` say otherwise."""

    def body(job):
        require_pytorch(job)
        output = job.check(torch_command(batch, precision, "--steps", 20, "--warm-up", WARM_UP, *options))
        fields = output.strip().splitlines()[-1].split(",")
        job.emit({"system": fields[0], "batch_size": batch, "precision": precision, "ms_per_step": float(fields[4]),
                  "tokens_per_s": float(fields[5]), "peak_mib": float(fields[6]), "options": list(options)})

    return Step("_".join(["pytorch", *(option.strip("-").replace("-", "_") for option in options), precision, str(batch)]),
                130, body)


def beside_pytorch():
    """Ours and PyTorch's in turn, so that whatever a budget leaves is a comparison."""
    return [
        ours(32, "bf16"), pytorch(32, "bf16"),
        ours(64, "bf16"), pytorch(64, "bf16"),
        algorithms(64, "bf16"),
        pytorch(32, "bf16", "--no-compile"),
        ours(32, "fp32"), pytorch(32, "fp32"),
    ]
