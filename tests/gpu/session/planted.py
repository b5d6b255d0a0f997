"""The planted bugs of tests/emulator/planted, built by nvcc and run under compute-sanitizer: what does it find?"""
import concurrent.futures
import os
import re

from runner import NO_DEVICE, OutOfTime, Step, StepFailed

# The tool made for a class of bug; the others (deadlocks, wrong launches) no tool looks for.
TOOLS = {"race": "racecheck", "uninitialised read": "initcheck", "divergent barrier": "synccheck", "wrong mask": "synccheck",
         "access out of bounds": "memcheck", "use after free": "memcheck", "host pointer": "memcheck",
         "null pointer": "memcheck", "misaligned access": "memcheck"}


def programs(carried):
    """(source, tool, whether it should find something)"""
    for source in sorted((carried / "planted").glob("*/*.cu")):
        marked = re.search(r"// BUG: ([^,\n]+)", source.read_text(encoding="utf-8"))
        name = TOOLS.get(marked[1].strip()) if marked else "memcheck"
        if name:
            yield source, name, marked is not None


def build(job, carried, compiler):
    out = job.runner.results.scratch / "planted"
    out.mkdir(exist_ok=True)

    def compile_one(source):
        program = out / source.stem
        command = [compiler, "-std=c++20", "-O1", "-lineinfo", "-arch=sm_90", f"-I{carried / 'include'}", "-o", program, source]
        done = job.run(command, 90, log_name=f"planted_{source.stem}")
        return program if done.status == 0 else None

    sources = [source for source, _, _ in programs(carried)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(sources, pool.map(compile_one, sources)))


def check(job, carried, tool):
    """Builds all and runs each. racecheck sees shared memory only and initcheck global memory only: a bug that stays
    unseen is a fact to record; a finding in a correct program is a fault."""
    built = build(job, carried, tool("nvcc"))
    checker = tool("compute-sanitizer")
    failed = [source.stem for source, program in built.items() if program is None]
    if failed:
        raise StepFailed(f"nvcc does not compile {', '.join(failed)}")

    def run_one(entry):
        source, kind, is_bug = entry
        done = job.run([checker, "--tool", kind, "--error-exitcode", "86", built[source]], 30,
                       log_name=f"planted_{source.stem}")
        return {"program": source.stem, "tool": kind, "is_bug": is_bug, "found": done.status == 86, "status": done.status,
                "has_gpu": not NO_DEVICE.search(done.output)}

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for row in pool.map(run_one, programs(carried)):
            job.emit(row)
    rows = job.record["rows"]
    if job.is_rehearsal:
        other = [row["program"] for row in rows if row["has_gpu"]]
        raise StepFailed(f"not for want of a GPU: {', '.join(other)}", for_want_of_a_gpu=not other)
    wrong = [row["program"] for row in rows if row["found"] and not row["is_bug"]]
    bugs = [row for row in rows if row["is_bug"]]
    job.note(f"{sum(row['found'] for row in bugs)} of {len(bugs)} bugs found")
    if wrong:
        raise StepFailed(f"findings in correct programs: {', '.join(wrong)}")
    if all(row["status"] is None for row in rows):
        raise OutOfTime("no program came to its end")
    if not any(row["found"] for row in bugs):
        raise StepFailed("compute-sanitizer found nothing at all")


def steps(carried, tool):
    return [Step("planted", 540, lambda job: check(job, carried, tool))]
