"""What fails in a benchmark is named, and what was measured beside it is kept. Stand-ins take the programs' places."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"

# Trains nothing; fails as the program and with the model that FAILS names. As the launcher it becomes what it launches.
PROGRAM = """#!{python}
import json, os, sys, time
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "lockstep":
    command = words[words.index("--") + 1:]
    os.execv(command[0], command)
if name == "generate_bench":
    if os.environ["FAILS"] == f"{{name}} {{words[0]}}":
        sys.exit("generate_bench: out of memory")
    print(json.dumps({{"model": words[0]}}))
    sys.exit()
option = lambda wanted: words[words.index(wanted) + 1]
if os.environ["FAILS"] == f"{{name}} {{option('--model')}}":
    sys.exit(f"{{name}}: out of memory")
os.makedirs(os.path.join(option("--out"), "run"))
with open(os.path.join(option("--out"), "run", "metrics.jsonl"), "w") as file:
    for step in range(int(option("--steps"))):
        file.write(json.dumps({{"step": step, "step_ms": 2.0, "peak_memory_mib": [8.0], "loss": 1.0}}) + "\\n")
time.sleep(float(os.environ["SECONDS"]))
"""


class Failures(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        (self.home / "bin").mkdir()
        for name in ("generate_bench", "lockstep", "train_gpt_ddp", "train_gpt_sharded", "train_gpt_single"):
            (self.home / "bin" / name).write_text(PROGRAM.format(python=sys.executable))
            (self.home / "bin" / name).chmod(0o700)

    def run_bench(self, name: str, fails: str, *options: str) -> tuple[int, dict, str]:
        """The exit status, the record, and what went to standard error."""
        out = self.home / "record.json"
        command = [sys.executable, str(BENCH / f"{name}.py"), "--models", "tiny,small", "--out", str(out), *options]
        seconds = "2" if name == "memory" else "0"  # memory.py looks at a program while it runs, on a busy machine too
        environment = {**os.environ, "LOCKSTEP_BUILD": str(self.home), "FAILS": fails, "PYTHON": "/nonexistent",
                       "SECONDS": seconds, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(out.read_text()), done.stderr

    def test_nothing_fails(self) -> None:
        status, record, errors = self.run_bench("sharded", "", "--rounds", "1")
        self.assertEqual((status, len(record["rows"]), "failed" in record), (0, 10, False), errors)

    def test_the_system_to_compare_with(self) -> None:
        status, record, errors = self.run_bench("sharded", "train_gpt_single tiny", "--rounds", "1")
        self.assertEqual((status, len(record["rows"]), record["failed"]), (1, 9, ["tiny, one process"]))
        self.assertIn("these failed (why is above):\n  tiny, one process", errors)
        for row in record["rows"]:
            self.assertEqual(row["speed"], None if row["model"] == "tiny" else 1.0)

    def test_one_rank_of_scaling(self) -> None:
        status, record, _ = self.run_bench(
            "scaling", "train_gpt_single tiny", "--rounds", "1", "--world-sizes", "2", "--transports", "tcp")
        self.assertEqual((status, len(record["rows"]), record["failed"]), (1, 5, ["tiny, one rank"]))

    def test_a_model_of_ours(self) -> None:
        status, record, _ = self.run_bench("train", "train_gpt_single small", "--rounds", "1", "--precision", "fp32")
        self.assertEqual((status, record["failed"]), (1, ["small, fp32, 1 x 2, lockstep"]))
        self.assertEqual({(row["model"], row["world_size"]) for row in record["rows"]}, {("tiny", 1), ("tiny", 2), ("small", 2)})
        status, record, _ = self.run_bench("memory", "train_gpt_single small", "--rounds", "1", "--worlds", "1")
        self.assertEqual((status, [row["model"] for row in record["rows"]]), (1, ["tiny"]))
        status, record, _ = self.run_bench("generate", "generate_bench small")
        self.assertEqual((status, record["rows"], record["failed"]), (1, [{"model": "tiny"}], ["small"]))


if __name__ == "__main__":
    if (os.cpu_count() or 1) < 2:
        print("SKIPPED: benchmarks of two ranks need two cores")
        sys.exit(77)
    unittest.main()
