"""Runs steps: each with a limit of its own, in a process group of its own, its output in a log of its own."""
import concurrent.futures
import dataclasses
import itertools
import os
import re
import signal
import subprocess
import sys
import time
import typing

# How our programs, CUDA and PyTorch say that there is no GPU; Catch2 breaks lines.
NO_DEVICE = re.compile("|".join(re.sub(" ", r"\\s+", text) for text in (
    "this machine has no NVIDIA GPU with a driver", "no CUDA-capable device", "CUDA driver version is insufficient",
    "Found no NVIDIA driver", "not compiled with CUDA enabled")))
SAVE_SECONDS = 5  # kept from the budget for the last archive
SIDE_BY_SIDE = 6  # steps without times: enough to fill a GPU's host, few enough for its memory


class StepFailed(Exception):
    """The step has shown something wrong; says what.

    @param for_want_of_a_gpu  Whether that is the only reason; None: the step's log tells.
    """

    def __init__(self, message, for_want_of_a_gpu=None):
        super().__init__(message)
        self.for_want_of_a_gpu = for_want_of_a_gpu


class OutOfTime(StepFailed):
    """A command reached its limit."""


class StepSkipped(Exception):
    """The machine lacks what the step is about; says what."""

    verdict = "skipped"


class NeedsMoreGpus(StepSkipped):
    """It has fewer GPUs than the step needs."""

    verdict = "needs more GPUs"


@dataclasses.dataclass
class Step:
    name: str
    seconds: float  # its share: whatever it starts is ended then
    body: typing.Callable  # body(job)
    is_timed: bool = True  # runs alone; other steps run side by side if the phase lets them


@dataclasses.dataclass
class Finished:
    status: int  # exit status; -signal; None where it was ended at its limit
    output: str


def stop_group(process):
    for how, patience in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
    # After SIGKILL of the group nothing is waited for: a process stuck in the driver must not hold up the rest.


class Job:
    """What a step's body works with."""

    def __init__(self, runner, record, deadline):
        self.runner, self.record, self.deadline = runner, record, deadline
        self.log = runner.results.log_path(record["name"])
        self.log.write_bytes(b"")

    @property
    def is_rehearsal(self):
        return self.runner.is_rehearsal

    def program(self, name):
        """Path of a carried program."""
        for folder in ("bin", "tests"):
            path = self.runner.carried / folder / name
            if path.exists():
                return str(path)
        raise StepFailed(f"{name} was not carried")

    def left(self):
        return self.deadline - time.monotonic()

    def run(self, command, seconds=None, on_line=None, log_name=None, **variables):
        """Runs a command to its end, or to its limit.

        @param seconds   Its limit, if it is less than what is left of the step's share.
        @param on_line   Called with each line of output as it comes.
        @param log_name  For commands that run side by side: a log of its own.
        """
        limit = min(self.left(), seconds or self.left())
        self._require_session()
        if limit <= 0:
            return Finished(None, "")
        path = self.runner.results.log_path(log_name) if log_name else self.log
        begin = path.stat().st_size if path.exists() else 0
        with open(path, "ab") as log:
            log.write(f"$ {' '.join(map(str, command))}\n".encode())
            log.flush()
            try:
                process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=subprocess.STDOUT, start_new_session=True,
                                           cwd=self.runner.results.scratch, env=self.runner.environment(**variables))
            except OSError as error:
                raise StepFailed(f"cannot start {command[0]}: {error.strerror}") from error
        self.runner.processes.add(process)
        reader = LineReader(path, begin, on_line)
        end = time.monotonic() + limit
        try:
            while process.poll() is None and time.monotonic() < end and not self.runner.is_ended:
                reader.read()
                time.sleep(0.02)
        finally:
            status = process.poll()
            stop_group(process)  # whatever the command left behind, too
            self.runner.processes.discard(process)
        reader.read()
        self._require_session()
        return Finished(status, reader.text)

    def _require_session(self):
        if self.runner.is_ended:
            raise OutOfTime("the session was ended from outside")

    def check(self, command, seconds=None, on_line=None, **variables):
        """run(), which must end with 0. @returns its output."""
        done = self.run(command, seconds, on_line, **variables)
        name = os.path.basename(str(command[0]))
        if done.status is None:
            raise OutOfTime(f"{name} was ended at its limit")
        if done.status != 0:
            last = [line for line in done.output.strip().splitlines() if line][-1:]
            raise StepFailed(f"{name} ended with {done.status}: {''.join(last)[:200]}")
        return done.output

    def emit(self, row):
        """A row of results, saved at once."""
        with self.runner.results.lock:
            self.record["rows"].append(row)
        self.runner.save_soon()

    def note(self, text):
        with self.runner.results.lock:
            self.record["note"] = text

    def count_cases(self, passed, failed, skipped):
        with self.runner.results.lock:
            self._count(passed, failed, skipped)

    def _count(self, passed, failed, skipped):
        cases = self.record.setdefault("cases", {"passed": 0, "failed": 0, "skipped": 0})
        cases["passed"] += passed
        cases["failed"] += failed
        cases["skipped"] += skipped


class LineReader:
    """Follows a growing log."""

    def __init__(self, path, begin, on_line):
        self.path, self.position, self.on_line = path, begin, on_line
        self.text, self.partial = "", ""

    def read(self):
        with open(self.path, "rb") as log:
            log.seek(self.position)
            new = log.read()
        self.position += len(new)
        new = new.decode("utf-8", "replace")
        self.text += new
        *lines, self.partial = (self.partial + new).split("\n")
        for line in lines:
            if self.on_line:
                self.on_line(line)


class Runner:
    def __init__(self, carried, results, found, deadline, is_rehearsal, share=1.0):
        """@param share  Of each step's time: less where the budget is less than the phase was planned for."""
        self.carried, self.results, self.found, self.share = carried, results, found, share
        self.deadline, self.is_rehearsal = deadline - SAVE_SECONDS, is_rehearsal
        self.saved_at = 0.0
        self.processes = set()
        self.is_ended = False
        signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGTERM, self._end)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self._end)

    def _end(self, number, _frame):
        """Ended from outside: the processes of running steps go too, as Ctrl-C does not reach their groups, and results
        so far are kept."""
        self.is_ended = True
        self.deadline = 0
        for process in list(self.processes):
            stop_group(process)
        sys.exit(128 + number)

    def environment(self, **variables):
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(self.found.folders), "LOCKSTEP_REQUIRE_GPU": "1",
                "LOCKSTEP_TEST_RECORDS": str(self.carried / "data"),
                "LOCKSTEP_COURSE_TEXT": str(self.carried / "data" / "course_text_v2.txt"),
                "PYTHONUNBUFFERED": "1", **{name: str(value) for name, value in variables.items()}}

    def save_soon(self):
        if time.monotonic() - self.saved_at > 2:
            self.results.save()
            self.saved_at = time.monotonic()

    @staticmethod
    def is_for_want_of_a_gpu(reason, job):
        if reason.for_want_of_a_gpu is not None:
            return reason.for_want_of_a_gpu
        return bool(NO_DEVICE.search(job.log.read_text(encoding="utf-8", errors="replace")))

    def run_all(self, steps, side_by_side=False):
        """In order. @param side_by_side  Whether neighbours whose times do not count may run at once."""
        for is_timed, group in itertools.groupby(steps, lambda step: step.is_timed or not side_by_side):
            with concurrent.futures.ThreadPoolExecutor(1 if is_timed else SIDE_BY_SIDE) as pool:
                list(pool.map(self.run, group))

    def run(self, step):
        before = self.results.step(step.name)
        if before and before["verdict"] == "passed":
            return
        record = self.results.begin(step.name)
        begin = time.monotonic()
        if self.deadline - begin < 5:
            self._close(record, "not reached", begin)
            return
        job = Job(self, record, min(begin + step.seconds * self.share, self.deadline))
        print(f"session.sh: {step.name}", file=sys.stderr, flush=True)
        verdict = "failed"
        try:
            step.body(job)
            verdict = "passed"
        except StepSkipped as reason:
            verdict = reason.verdict
            job.note(str(reason))
        except StepFailed as reason:
            verdict = "out of time" if isinstance(reason, OutOfTime) else "failed"
            job.note(str(reason))
            if self.is_rehearsal and self.is_for_want_of_a_gpu(reason, job):
                verdict = "reached the device"
        except Exception as error:  # a mistake in this script costs its own step only
            job.note(f"{type(error).__name__}: {error}")
        finally:
            self._close(record, verdict, begin)

    def _close(self, record, verdict, begin):
        with self.results.lock:
            record["verdict"] = verdict
            record["seconds"] = round(time.monotonic() - begin, 1)
        self.results.save()
