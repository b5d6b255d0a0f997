"""Control plane, store and joining as the number of ranks grows: what they cost, and what breaks first.

Percentages are those of one core that rank 0's process takes: idle, while all ranks enter two collectives a second and
stay in each for 0.3 s ("enter"), and while they post two a second as the NCCL backend does ("post"). "death" is the time
from SIGKILL for one rank until the last one knows, "absence" the time from the end of waiting for a missing rank until
all ranks have been told which one it is.

Two ways to have many ranks. "played": a few processes play them, each rank with its own connections and control thread;
rank 0 has a process of its own, and so has the one that is killed. "processes": real ranks below `lockstep launch`, with
a ring over TCP.
"""
import argparse
import contextlib
import json
import os
import resource
import secrets
import select
import subprocess
import tempfile
import time

from bench_common import BIN, clean_environment, free_port, write_record

JOIN_SECONDS = 120  # twice the default: what takes longer than a job waits is still measured
ABSENT_SECONDS = 15
PER_PROCESS = 1024
PATIENCE = 8  # in seconds: where telling who is missing took so long, more ranks are not tried


def usual_limit():
    """The soft limit of open files that a login shell has; a program may raise its own."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def raised_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def shared_mib():
    """Shared memory of the whole machine: a file without a name has no other place where it is counted."""
    with open("/proc/meminfo", encoding="utf-8") as info:
        return next(int(line.split()[1]) // 1024 for line in info if line.startswith("Shmem:"))


class Players:
    """One process that plays some of the ranks."""

    def __init__(self, binary, token, port, world_size, first, count, join_seconds):
        command = [binary, "play", *map(str, (port, world_size, first, count, join_seconds))]
        environment = clean_environment(LOCKSTEP_TOKEN=token, LOCKSTEP_LOG="error")
        self.count = count
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=usual_limit
        )

    def say(self, command):
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()

    def hear(self, timeout):
        """One answer, or None."""
        deadline = time.monotonic() + timeout
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                return None
            line += got
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Job:
    """Ranks 0 to world_size - 1, or without the last one."""

    def __init__(self, binary, world_size, join_seconds=JOIN_SECONDS, has_last=True):
        self.begin = time.monotonic()
        self.join_seconds = join_seconds
        parts = [(0, 1)]
        for first in range(1, world_size - 1, PER_PROCESS):
            parts.append((first, min(PER_PROCESS, world_size - 1 - first)))
        if has_last:
            parts.append((world_size - 1, 1))
        token, port = secrets.token_hex(32), free_port()
        self.players = [Players(binary, token, port, world_size, *part, join_seconds) for part in parts]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.players:
            with contextlib.suppress(OSError):
                each.end()

    def hear(self, timeout):
        deadline = time.monotonic() + timeout
        return [each.hear(deadline - time.monotonic()) for each in self.players]

    def join(self):
        """The answers, and how long it took; None where a rank has not joined."""
        answers = self.hear(self.join_seconds + 200)
        if any(a is None or a["joined"] != p.count for a, p in zip(answers, self.players)):
            errors = [a["error"] for a in answers if a and a["error"]]
            print("  not all joined:", errors[:1] or "no answer")
            return answers, None
        return answers, max(a["last_ns"] for a in answers) * 1e-9 - self.begin

    def all_do(self, command, seconds):
        for each in self.players:
            each.say(command)
        return self.hear(seconds + 120)

    def watch(self, players):
        for each in players:
            each.say("watch")
        answers = [each.hear(150) for each in players]
        known = sum(a["known"] for a in answers if a)
        return answers, known


def rounded(value, digits=3):
    return None if value is None else round(value, digits)


def loads_of(job, row, seconds):
    for name, command in (("idle", f"idle {seconds}"), ("enter", f"enter {seconds} 2 300"), ("post", f"post {seconds} 2")):
        answers = job.all_do(command, seconds)
        if answers[0] is None or answers[0]["failed"]:
            print(f"  {name}: rank 0", "does not answer" if answers[0] is None else "has seen the job fail")
            row[f"{name}_percent"] = None
            return False
        row[f"{name}_percent"] = rounded(100 * answers[0]["cpu_per_second"], 2)
        if name == "idle":
            row["rank_0_mib"] = rounded(answers[0]["pss_kib"] / 1024, 1)
            row["descriptors"] = answers[0]["descriptors"]
            row["mib_per_rank"] = rounded(sum(a["pss_kib"] for a in answers if a) / 1024 / row["ranks"], 3)
    return True


def play_death(binary, row, seconds):
    with Job(binary, row["ranks"]) as job:
        answers, row["join_s"] = job.join()
        row["join_s"] = rounded(row["join_s"])
        row["join_cpu_s"] = rounded(answers[0]["cpu_seconds"]) if answers[0] else None
        if row["join_s"] is None or not loads_of(job, row, seconds):
            return
        victim = job.players.pop()
        begin = time.monotonic_ns()
        victim.end()
        answers, known = job.watch(job.players)
        row["death_known"] = known
        if known == row["ranks"] - 1:
            row["death_ms"] = rounded((max(a["last_ns"] for a in answers) - begin) * 1e-6, 1)


def play_mismatch(binary, row):
    with Job(binary, row["ranks"]) as job:
        if job.join()[1] is None:
            return
        begins = job.all_do(f"mismatch {row['ranks'] // 2}", 1)
        answers, known = job.watch(job.players)
        if known == row["ranks"] and None not in begins:
            latest = max(a["begin_ns"] for a in begins)
            row["mismatch_ms"] = rounded((max(a["last_ns"] for a in answers) - latest) * 1e-6, 1)
            row["mismatch_bytes"] = answers[0]["message_bytes"]
            row["names_odd_rank"] = answers[0]["culprit"] == row["ranks"] // 2
            print("  mismatch:", answers[0]["message"])


def play_absence(binary, row):
    with Job(binary, row["ranks"], ABSENT_SECONDS, has_last=False) as job:
        answers = job.join()[0]
        if None in answers:
            return
        row["absence_s"] = rounded(max(a["last_ns"] for a in answers) * 1e-9 - job.begin - ABSENT_SECONDS)
        row["absence_bytes"] = max(a["error_bytes"] for a in answers)


def run_processes(binary, row, transport, timeout):
    """Once, or where the launcher lacks open files, once more with as many as there may be."""
    output = run_processes_once(binary, row, transport, timeout, usual_limit)
    row["starts_with_1024_files"] = "yes"
    if b"ulimit -n" in output:
        row["starts_with_1024_files"] = "no"
        run_processes_once(binary, row, transport, timeout, raised_limit)


def run_processes_once(binary, row, transport, timeout, limit):
    launcher = os.path.join(os.path.dirname(binary), "lockstep")
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        command = [launcher, "launch", "--nproc", str(row["ranks"]), "--", binary, "rank", folder]
        environment = clean_environment(LOCKSTEP_TRANSPORT=transport, LOCKSTEP_JOIN_SECONDS=JOIN_SECONDS)
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit
        )
        most_descriptors, output, most_shared, shared_before = 0, b"", 0, shared_mib()
        while True:
            if time.monotonic() - begin > timeout:
                process.terminate()
            if select.select([process.stdout], [], [], 0.5)[0]:
                got = os.read(process.stdout.fileno(), 1 << 20)
                if not got:
                    break
                output += got
            with contextlib.suppress(OSError):
                most_descriptors = max(most_descriptors, len(os.listdir(f"/proc/{process.pid}/fd")))
            most_shared = max(most_shared, shared_mib() - shared_before)
        _, _, usage = os.wait4(process.pid, 0)
        process.stdout.close()
        row["end_s"] = time.monotonic()
        row["launcher_descriptors"] = most_descriptors
        row["output_bytes"] = len(output)
        if transport == "shared_memory":
            row["shared_mib"] = most_shared
        row["job_cpu_s"] = rounded(usage.ru_utime + usage.ru_stime, 1)
        path = os.path.join(folder, "ranks.jsonl")
        records = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                records = [json.loads(line) for line in lines]
        fill_from_records(row, records, begin, output)
    return output


def fill_from_records(row, records, begin, output):
    ended = row.pop("end_s")
    row["reported"] = len(records)
    killed = [r["killed_ns"] for r in records if "killed_ns" in r]
    if not killed:
        print("  not all came so far:", [r["error"] for r in records if "error" in r][:1], output[-600:].decode())
        return
    started = max(r["start_ns"] for r in records) * 1e-9
    row["start_s"] = rounded(started - begin)
    row["join_s"] = rounded(max(r["joined_ns"] for r in records) * 1e-9 - started)
    row["group_s"] = rounded(max(r["group_ns"] for r in records) * 1e-9 - max(r["joined_ns"] for r in records) * 1e-9)
    first = next(r for r in records if r["rank"] == 0)
    row["idle_percent"] = rounded(100 * first["idle_cpu_per_second"], 2)
    row["rank_0_mib"] = rounded(first["pss_kib"] / 1024, 1)
    row["mib_per_rank"] = rounded(sum(r["pss_kib"] for r in records) / 1024 / row["ranks"], 2)
    row["descriptors"] = first["descriptors"]
    knowing = [r["failed_ns"] for r in records if r.get("failed_ns")]
    row["death_known"] = len(knowing)
    if len(knowing) == row["ranks"] - 1:
        row["death_ms"] = rounded((max(knowing) - killed[0]) * 1e-6, 1)
        row["end_s"] = rounded(ended - max(knowing) * 1e-9)


def print_table(rows):
    columns = ["state", "kind", "ranks", "join_s", "join_cpu_s", "idle_percent", "enter_percent", "post_percent",
               "death_ms", "mismatch_ms", "mismatch_bytes", "absence_s", "rank_0_mib", "mib_per_rank", "descriptors"]
    print(" ".join(f"{c:>14}" for c in columns))
    for row in rows:
        print(" ".join(f"{'-' if row.get(c) is None else row[c]:>14}" for c in columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--played", default="8,64,256,1024,4096", help="numbers of ranks; empty: none")
    parser.add_argument("--processes", default="8,64,256,1024")
    parser.add_argument("--shared-memory", default="64,256", help="processes that share memory")
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    parser.add_argument("--parts", default="death,mismatch,absence", help="of what is played")
    parser.add_argument("--before", help="folder of programs built from an older state, measured first")
    parser.add_argument("--only-before", action="store_true")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    states = [("before", arguments.before)] if arguments.before else []
    if not arguments.only_before:
        states.append(("after", BIN))
    rows = []
    for state, folder in states:
        binary = os.path.abspath(os.path.join(folder, "scale_bench"))
        slowest_absence = 0
        for ranks in [int(n) for n in arguments.played.split(",") if n]:
            row = {"state": state, "kind": "played", "ranks": ranks, "load": rounded(os.getloadavg()[0], 1)}
            rows.append(row)
            print(f"{state}: {ranks} ranks, played", flush=True)
            if "death" in arguments.parts:
                play_death(binary, row, arguments.seconds)
            if "mismatch" in arguments.parts:
                play_mismatch(binary, row)
            if "absence" in arguments.parts:
                row["absence_s"] = "not tried"
                if slowest_absence < PATIENCE:
                    play_absence(binary, row)
                    slowest_absence = row["absence_s"] if row["absence_s"] != "not tried" else PATIENCE
            print(" ", row, flush=True)
        for kind, counts in (("tcp", arguments.processes), ("shared_memory", arguments.shared_memory)):
            for ranks in [int(n) for n in counts.split(",") if n]:
                row = {"state": state, "kind": kind, "ranks": ranks,
                       "load": rounded(os.getloadavg()[0], 1)}
                rows.append(row)
                print(f"{state}: {ranks} processes, {kind}", flush=True)
                run_processes(binary, row, kind, 400)
                print(" ", row, flush=True)
    print_table(rows)
    if arguments.out:
        write_record(arguments.out, "control plane, store and joining as the number of ranks grows; ranks of one "
                     "machine over loopback", rows)


main()
