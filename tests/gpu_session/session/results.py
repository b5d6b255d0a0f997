"""What a phase has found out, as one archive: results.json and a log for each step."""
import io
import json
import os
import pathlib
import tarfile
import tempfile
import threading

LOG_LIMIT = 1 << 20  # of each log the beginning and the end, half each


def extract(archive, folder):
    """All of an archive of our own. Newer Pythons ask to be told that names in it are trusted."""
    archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def add_log(archive, path):
    """Only its two ends if it is long. The file itself stays whole: a step may still write to it, and the runner, which
    follows it, counts its bytes."""
    content = path.read_bytes()
    if len(content) > 2 * LOG_LIMIT:
        half = LOG_LIMIT // 2
        content = content[:half] + b"\n[... left out ...]\n" + content[-half:]
    member = archive.gettarinfo(path, path.name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


class Results:
    def __init__(self, folder, phase, keep):
        """@param keep  Whether steps that have passed in an earlier run stay."""
        folder.mkdir(parents=True, exist_ok=True)
        self.archive = folder.resolve() / f"session_{phase}.tar.gz"
        self._scratch = tempfile.TemporaryDirectory(prefix="gpu_session_")  # logs and results until they are packed
        self.scratch = pathlib.Path(self._scratch.name)
        self.lock = threading.RLock()  # steps may run side by side
        self.data = {"phase": phase, "machine": {}, "steps": []}
        if keep and self.archive.exists():
            with tarfile.open(self.archive) as archive:
                extract(archive, self.scratch)
            self.data = json.loads((self.scratch / "results.json").read_text(encoding="utf-8"))

    def step(self, name):
        """The record of a step, or None."""
        return next((step for step in self.data["steps"] if step["name"] == name), None)

    def begin(self, name):
        record = {"name": name, "verdict": "running", "seconds": 0, "rows": []}
        with self.lock:
            self.data["steps"] = [step for step in self.data["steps"] if step["name"] != name] + [record]
        return record

    def log_path(self, name):
        return self.scratch / f"{name}.log"

    def rows(self, name):
        record = self.step(name)
        return record["rows"] if record else []

    def save(self):
        with self.lock:
            self._save()

    def _save(self):
        (self.scratch / "results.json").write_text(json.dumps(self.data, indent=1) + "\n", encoding="utf-8")
        new = self.archive.with_suffix(".new")
        with tarfile.open(new, "w:gz") as archive:
            for path in sorted(self.scratch.iterdir()):
                if path.suffix == ".log":
                    add_log(archive, path)
                elif path.suffix == ".json":  # not the programs and runs that steps leave there
                    archive.add(path, path.name)
        os.replace(new, self.archive)

    def exit_status(self, names):
        """0: each of these steps passed or (rehearsed) came as far as the device. 3: so did all that were not skipped.
        77: all were skipped. 1: anything else."""
        verdicts = {(self.step(name) or {}).get("verdict") for name in names}
        left_out = verdicts & {"skipped", "needs more GPUs"}
        if not verdicts - left_out <= {"passed", "reached the device"}:
            return 1
        return 0 if not left_out else 77 if left_out == verdicts else 3

    def summary(self):
        lines = [f"phase {self.data['phase']}: {self.archive}"]
        for step in self.data["steps"]:
            note = step.get("note", "")
            if "cases" in step:
                cases = step["cases"]
                skipped = f", {cases['skipped']} skipped" if cases.get("skipped") else ""
                note = f"{cases['passed']} cases passed, {cases['failed']} failed{skipped}  {note}"
            lines.append(f"  {step['name']:28}{step['verdict']:20}{step['seconds']:6.1f} s  {note}".rstrip())
        counted = [step["cases"]["passed"] for step in self.data["steps"] if "cases" in step]
        lines.append(f"  {sum(counted)} test cases passed in {len(counted)} steps; "
                     f"{sum(step['verdict'] == 'failed' for step in self.data['steps'])} steps failed, "
                     f"{sum(step['verdict'] in ('skipped', 'needs more GPUs') for step in self.data['steps'])} were skipped")
        return "\n".join(lines)
