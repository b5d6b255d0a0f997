"""The planted bugs of tests/gpu/emulator/planted, built by nvcc and run under compute-sanitizer: what does it find?"""
import concurrent.futures
import os
import re
import threading

from runner import OutOfTime, Step, StepFailed

# The tool made for a class of bug; the others (deadlocks, wrong launches) no tool looks for.
TOOLS = {"race": "racecheck", "uninitialised read": "initcheck", "divergent barrier": "synccheck", "wrong mask": "synccheck",
         "access out of bounds": "memcheck", "use after free": "memcheck", "host pointer": "memcheck",
         "null pointer": "memcheck", "misaligned access": "memcheck"}


def programs(carried):
    """(source, tool, whether there is a bug, whether the tool is known to report one that is not there)"""
    for source in sorted((carried / "planted").glob("*/*.cu")):
        text = source.read_text(encoding="utf-8")
        marked = re.search(r"// BUG: ([^,\n]+)", text)
        name = TOOLS.get(marked[1].strip()) if marked else "memcheck"
        if name:
            yield source, name, marked is not None, "// compute-sanitizer" in text


def check(job, carried, tool):
    """Each is built and run, several at once. racecheck sees shared memory only and initcheck global memory only: a bug
    that stays unseen is a fact to record; a finding in a correct program is a fault."""
    compiler, checker = tool("nvcc"), tool("compute-sanitizer")
    out = job.runner.results.scratch / "planted"
    out.mkdir(exist_ok=True)
    on_gpu = threading.Semaphore(4)

    def build_and_run(entry):
        source, kind, is_bug, is_known = entry
        log = f"planted_{source.stem}"
        options = ["-std=c++20", "-O1", "-lineinfo", "-arch=sm_90", f"-I{carried / 'include'}"]
        built = job.run([compiler, *options, "-o", out / source.stem, source], 90, log_name=log)
        row = {"program": source.stem, "tool": kind, "is_bug": is_bug, "is_known_false_finding": is_known, "built": built.status}
        if built.status == 0:
            with on_gpu:
                done = job.run([checker, "--tool", kind, "--error-exitcode", "86", out / source.stem], 30, log_name=log)
            row |= {"found": done.status == 86, "status": done.status}
        return row

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for task in concurrent.futures.as_completed([pool.submit(build_and_run, entry) for entry in programs(carried)]):
            job.emit(task.result())
    rows = [row for row in job.record["rows"] if row["built"] == 0]
    bugs = [row for row in rows if row["is_bug"]]
    job.note(f"{sum(row['found'] for row in bugs)} of {len(bugs)} bugs found")
    failed = [f"{row['program']} ({row['built']})" for row in job.record["rows"] if row["built"] not in (0, None)]
    if failed:
        raise StepFailed(f"nvcc does not compile {', '.join(failed)}", for_want_of_a_gpu=False)
    if job.is_rehearsal:
        other = [row["program"] for row in rows if row["status"] != 1]  # 1: its own verdict, a CUDA call has failed
        other += [row["program"] for row in job.record["rows"] if row["built"] is None]  # no time left to build it
        raise StepFailed(f"not for want of a GPU: {', '.join(other)}", for_want_of_a_gpu=not other)
    wrong = [row["program"] for row in rows if row["found"] and not (row["is_bug"] or row["is_known_false_finding"])]
    if wrong:
        raise StepFailed(f"findings in correct programs: {', '.join(wrong)}")
    if len(rows) < len(job.record["rows"]) or any(row["status"] is None for row in rows):
        raise OutOfTime(f"{sum(row['status'] is not None for row in rows)} of {len(job.record['rows'])} came to their end")
    if not any(row["found"] for row in bugs):
        raise StepFailed("compute-sanitizer found nothing at all")


def steps(carried, tool):
    return [Step("planted", 240, lambda job: check(job, carried, tool), is_timed=False)]
