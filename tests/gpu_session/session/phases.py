"""The steps of each phase, in the order of their worth."""
import json
import os
import pathlib
import re
import shutil
import sys

import planted
import training
from runner import NO_DEVICE, NeedsMoreGpus, OutOfTime, Step, StepFailed, StepSkipped

# NCCL refuses two ranks on one GPU of one host: each says that it is a host of its own, and they meet over loopback.
SHARED_GPU = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": 0, "NCCL_MNNVL_ENABLE": 0}
OWN_HOST = 'NCCL_HOSTID=lockstep-$RANK exec "$0" "$@"'


def tool(name):
    """Path of one of NVIDIA's tools."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    path = shutil.which(name) or shutil.which(name, path=os.path.join(toolkit, "bin"))
    if path is None:
        raise StepSkipped(f"{name} is not installed")
    return path


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def emit_json_lines(job):
    """For on_line: each line that is JSON becomes a row."""
    return lambda line: job.emit(json.loads(line)) if line.startswith("{") and line.endswith("}") else None


# --- what is there


def machine(job):
    query = "name,driver_version,memory.total,clocks.sm,clocks.mem,power.limit"
    facts = {"libraries": job.runner.found.paths}
    carried = job.runner.carried / "CARRIED"
    facts["carried"] = carried.read_text(encoding="utf-8").strip() if carried.exists() else ""
    for name, command in {
        "gpu": ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
        "nvcc": ["nvcc", "--version"],
        "ncu": ["ncu", "--version"],
        "compute_sanitizer": ["compute-sanitizer", "--version"],
        "torch": ["python3", "-c", "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())"],
    }.items():
        try:
            facts[name] = job.check(command, 60).strip().splitlines()[-1]
        except (StepFailed, IndexError):
            facts[name] = None  # which steps need it, they say themselves
    job.runner.results.data["machine"] = facts
    # The programs' libraries are found and their processor instructions are known here: needs no GPU.
    job.check([job.program("ladder")], 20)
    job.check([job.program("device_bench"), "--list"], 20)


def require_rows(job):
    if not job.record["rows"]:
        raise StepFailed("no times were found in the output")


def ceilings(job):
    job.check([job.program("ceilings")], on_line=emit_json_lines(job))
    require_rows(job)


# --- tests


def catch2_counts(output):
    """(passed, failed, skipped) test cases, or None if the program did not come to its end."""
    if match := re.search(r"All tests passed \(.* in (\d+) test cases?", output):
        passed, failed = int(match[1]), 0
    elif match := re.search(r"^test cases: .*$", output, re.MULTILINE):
        passed, failed = (sum(map(int, re.findall(rf"(\d+) {word}", match[0]))) for word in ("passed", "failed"))
    else:
        return None
    # Our tests' own line (tests/support/skip.hpp); Catch2 counts those cases among the passed ones.
    match = re.search(r"^skipped: (\d+) of \d+ test cases$", output, re.MULTILINE)
    skipped = int(match[1]) if match else 0
    return passed - skipped, failed, skipped


def names_of_cases(job, program, filters):
    output = job.run([program, *filters, "--list-test-names-only"], 30).output  # Catch2 2
    if "Unrecognised token" in output:
        output = job.run([program, *filters, "--list-tests", "--verbosity", "quiet"], 30).output
    return [line.strip() for line in output.splitlines()[1:] if line.strip()]  # the first is our own command


def run_cases_alone(job, program, names):
    """After a crash or a hang: which case is it?"""
    for name in names:
        done = job.run([program, re.sub(r'([\\,\[\]"*~])', r"\\\1", name)], 20)
        counts = catch2_counts(done.output)
        job.count_cases(*(counts or (0, 1, 0)))
        if counts is None:
            job.emit({"case": name, "status": "hangs" if done.status is None else done.status})
        if job.left() <= 1:
            raise OutOfTime("the cases were run one by one, and not all of them")


def run_tests(job, program, *filters, **variables):
    """A Catch2 program. Passes if cases ran and all of them passed, but for skipped ones."""
    path = job.program(program)
    done = job.run([path, *filters], job.left() * 0.6, **variables)
    counts = catch2_counts(done.output)
    if counts is None:
        run_cases_alone(job, path, names_of_cases(job, path, filters))
    else:
        job.count_cases(*counts)
    passed, failed, skipped = job.record.get("cases", {"passed": 0, "failed": 0, "skipped": 0}).values()
    if job.is_rehearsal and failed > len(NO_DEVICE.findall(done.output)):
        raise StepFailed(f"{failed} cases failed, not all of them because there is no GPU", for_want_of_a_gpu=False)
    if counts is None and done.status is None:
        raise OutOfTime(f"{program} was ended at its limit")
    if skipped and not passed and not failed:
        reasons = re.findall(r"^skipped: (.*)$", done.output, re.MULTILINE)
        reason = reasons[0] if reasons else "no reason given"
        kind = NeedsMoreGpus if re.match(r"fewer than \d+ devices", reason) else StepSkipped
        raise kind(f"all of its {skipped} cases: {reason}")
    if failed or done.status != 0:
        raise StepFailed(f"{failed} of {passed + failed} cases failed; {program} ended with {done.status}")
    if passed == 0:
        raise StepFailed("no test case ran")


def gpu_tests(carried, seconds):
    """A step for each test program with the label gpu; of those that also test the CPU, the cases tagged so."""
    listed = (carried / "gpu_tests.txt").read_text(encoding="utf-8").split()

    def step(program):
        def body(job):
            has_tag = bool(names_of_cases(job, job.program(program), ["[gpu]"]))
            run_tests(job, program, *(["[gpu]"] if has_tag else []))

        return Step(program, seconds, body, is_timed=False)

    return [step(program) for program in listed]


def sanitizer(kind, *programs):
    """NVIDIA's checker over kernels of ours: cuBLAS is NVIDIA's own business, and slow to check."""

    def body(job):
        checker = tool("compute-sanitizer")
        problems = []
        for program, filters in programs:
            # Errors of calls our code checks itself, those that libraries expect and handle included.
            options = ["--error-exitcode", "86", "--kernel-name", "kns=lockstep", "--report-api-errors", "no"]
            done = job.run([checker, "--tool", kind, *options, job.program(program), *filters])
            found = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", done.output)
            job.emit({"program": program, "status": done.status, "summary": found[-1] if found else None})
            if done.status is None:
                raise OutOfTime(f"{program} under {kind} was ended at its limit")
            if done.status != 0:
                problems.append(f"{program}: {found[-1] if found else f'ended with {done.status}'}")
        if problems:
            raise StepFailed("; ".join(problems))

    return body


def phase_a(carried, gpus):
    tests = gpu_tests(carried, 75)
    kernels = [step for step in tests if "kernels" in step.name]
    rest = [step for step in tests if step not in kernels]
    # Tests of real sizes are too much for a checker that follows every access.
    checked = [(step.name, ["~[real_size]"]) for step in kernels if "real_size" not in step.name]
    return [
        Step("machine", 90, machine, is_timed=False),
        Step("ceilings", 40, ceilings),
        *kernels,
        *rest,
        Step("train_124m_bf16", 60, training.ten_steps, is_timed=False),
        Step("losses_beside_cpu", 60, training.losses_beside_cpu, is_timed=False),
        Step("memcheck", 150, sanitizer("memcheck", *checked), is_timed=False),
        # racecheck 2025.3 ends with an error of its own in cuBLAS's kernels for Hopper.
        Step("racecheck", 150, sanitizer("racecheck", *((name, [*filters, "~*product*"]) for name, filters in checked)),
             is_timed=False),
    ]


# --- speed


def emit_rungs(job):
    """For on_line: rung, ms, GB/s, TFLOP/s, of the bound, of the library."""
    pattern = re.compile(r"(\w+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+ %|-) +([\d.]+ %|-)")

    def emit(line):
        if match := pattern.match(line):
            percent = [None if text == "-" else float(text.split()[0]) for text in match.groups()[4:]]
            job.emit({"rung": match[1], "ms": float(match[2]), "gb_s": float(match[3]), "tflop_s": float(match[4]),
                      "percent_of_bound": percent[0], "percent_of_library": percent[1]})

    return emit


def ladder(name):
    def body(job):
        job.check([job.program("ladder"), name], on_line=emit_rungs(job))  # fails where a rung is wrong, after the others
        require_rows(job)

    return Step(f"ladder_{name}", 45, body)


def ladder_names():
    return ("reduction", "matrix_product", "softmax", "adamw", "transpose", "layer_norm", "flash_attention", "tensor_cores")


def operations(job):
    """Each operation beside the time that its bytes and its arithmetic take at the measured ceilings."""
    rows = job.runner.results.rows("ceilings")
    copy = next((row["gb_s"] for row in rows if row["ceiling"] == "copy"), None)
    products = {row["dtype"]: row["tflop_s"] for row in rows if row["ceiling"] == "product"}

    def emit(line):
        if not (line.startswith("{") and line.endswith("}")):
            return
        row = json.loads(line)
        if copy and row["dtype"] in products:
            floor = max(row["bytes"] / copy * 1e-6, row["operations"] / products[row["dtype"]] * 1e-9)
            row["percent_of_ceiling"] = round(100 * floor / row["ms"], 1)
        job.emit(row)

    job.check([job.program("device_bench")], on_line=emit)
    require_rows(job)


def operations_of_pytorch(job):
    training.require_pytorch(job)
    job.check([sys.executable, pathlib.Path(__file__).with_name("torch_operations.py")], on_line=emit_json_lines(job))
    require_rows(job)


def profile_largest(job):
    """Nsight Compute on the four operations that cost a training step in bfloat16 most."""
    profiler = tool("ncu")
    rows = job.runner.results.rows("operations")
    rows = [row for row in rows if row["dtype"] == "bfloat16" or row["operation"] == "adam_step"]
    largest = sorted(rows, key=lambda row: -row["ms"] * row["times_per_step"])[:4]
    if not largest and not job.is_rehearsal:
        raise StepSkipped("the step operations has no times yet, and they say which are largest")
    problems = []
    for row in largest or [{"operation": "attention_backward", "dtype": "bfloat16"}]:
        # Clocks stay as they are; device_bench switches the profiler on for the operation alone.
        command = [profiler, "--clock-control", "none", "--profile-from-start", "off", "--set", "detailed",
                   job.program("device_bench"), "--only", row["operation"], "--dtype", row["dtype"], "--once"]
        done = job.run(command, 60)
        job.emit({"operation": row["operation"], "dtype": row["dtype"], "status": done.status})
        if done.status != 0:
            problems.append(f"{row['operation']} ended with {done.status}")
    if problems:
        raise StepFailed("; ".join(problems))


def phase_b(_carried, _gpus):
    return [
        Step("ceilings", 40, ceilings),
        Step("operations", 150, operations),
        Step("operations_of_pytorch", 90, operations_of_pytorch),
        *map(ladder, ladder_names()),
        Step("ncu", 200, profile_largest),
    ]


# --- NCCL


def json_step(program, seconds, options, **variables):
    """A program that writes what it measures into the file of its option --json."""

    def body(job):
        path = job.runner.results.scratch / f"{program}.json"
        job.check([job.program(program), *options, "--json", path], **variables)
        job.emit(json.loads(path.read_text(encoding="utf-8")))

    return Step(program, seconds, body)


def nccl_all_reduce(ranks):
    def body(job):
        count = 100003
        output = job.check([job.program("lockstep"), "launch", "--nproc", ranks, "--", "sh", "-c", OWN_HOST,
                            job.program("nccl_all_reduce"), "--count", count, "--share-gpu"], **SHARED_GPU)
        factor = ranks * (ranks + 1) // 2
        expected = f"-> [{factor}, {2 * factor}, {3 * factor}, ...]"
        if output.count(expected) != ranks:
            raise StepFailed(f"{output.count(expected)} of {ranks} ranks have the sum {expected}")

    return Step(f"all_reduce_{ranks}_ranks", 60, body, is_timed=False)


def nccl_mismatch(job):
    """Ranks that disagree end with an error on both, not with a hang."""
    script = f'set -- "$@" --count $((1000 + RANK)); {OWN_HOST}'
    done = job.run([job.program("lockstep"), "launch", "--nproc", 2, "--", "sh", "-c", script,
                    job.program("nccl_all_reduce"), "--share-gpu"], **SHARED_GPU)
    if done.status is None:
        raise OutOfTime("the ranks hang")
    if done.status == 0 or "ranks called different collectives" not in done.output:
        raise StepFailed(f"ended with {done.status}, and not because ranks called different collectives")


def train_ddp(job):
    job.check([job.program("lockstep"), "launch", "--nproc", 2, "--", "sh", "-c", OWN_HOST, job.program("train_gpt_ddp"),
               "--device", "cuda", "--share-gpu", "--backend", "nccl", "--model", "tiny", "--steps", "20",
               "--sample-tokens", "0", "--out", job.runner.results.scratch / "runs"], **SHARED_GPU)


def phase_d(_carried, gpus):
    steps = [
        Step("nccl_unique_id_test", 60, lambda job: run_tests(job, "nccl_unique_id_test"), is_timed=False),
        nccl_all_reduce(2),
        nccl_all_reduce(4),
        Step("mismatch", 90, nccl_mismatch, is_timed=False),
        Step("train_ddp", 90, train_ddp, is_timed=False),
        Step("bus_bandwidth_test", 150, lambda job: run_tests(job, "bus_bandwidth_test", **SHARED_GPU), is_timed=False),
        json_step("nccl_bench", 60, [] if gpus > 1 else ["--max-bytes", 4 << 10], **SHARED_GPU),
        Step("collective_faults_test", 250,
             lambda job: run_tests(job, "collective_faults_test", LOCKSTEP_FAULT_BACKEND="nccl",
                                   LOCKSTEP_TEST_SHARE_GPU=1, **SHARED_GPU), is_timed=False),
    ]
    if gpus > 1:  # one GPU has no link to measure
        options = ["--backends", "nccl", "--device", "cuda", "--world-size", gpus]
        steps.insert(0, json_step("bus_bandwidth", 120, options))
    return steps


PHASES = {"A": phase_a, "B": phase_b, "C": lambda carried, gpus: training.beside_pytorch(),
          "D": phase_d, "E": lambda carried, gpus: planted.steps(carried, tool)}
