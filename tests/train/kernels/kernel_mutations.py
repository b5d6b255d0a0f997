#!/usr/bin/env python3
"""Takes one barrier or guard out of our device kernels at a time and runs the kernels' tests in checked mode.

Every mutant has to be noticed: by a finding of the checker, or by a test that fails. A mutant that nothing notices is
either a barrier that the kernel does not need or a hole in the checker or the tests.

    kernel_mutations.py --build build/cpu             a few mutants, others every day
    kernel_mutations.py --build build/cpu --all       all of them (also: LOCKSTEP_ALL_MUTANTS=1)
    kernel_mutations.py --build build/cpu --list      what there is

Exit status: 0 all noticed, 1 not, 77 the build has no checked kernels.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
KERNELS = ROOT / "common/train/kernels/cuda"
MODULE = "liblockstep_checked_kernels.so"
SAMPLE = 3  # mutants of a run without --all
SECONDS_A_RUN = 120

# Which source shows a change of a header, and which tests run a source's kernels.
SOURCE_OF_HEADER = {"sums.cuh": "numbers.cu", "attention_tiles.cuh": "attention_forward.cu", "map.cuh": "elementwise.cu",
                    "attention_tensor_core.cuh": "attention_tensor_core.cu", "packs.cuh": "elementwise.cu",
                    "random.cuh": "dropout.cu", "attention_core_gradients.cuh": "attention_backward_tensor_core.cu"}
TESTS_OF_SOURCE = {
    "attention_forward.cu": "device attention*", "attention_backward.cu": "device attention*",
    "attention_backward_tensor_core.cu": "device attention in bfloat16*,*gradients of attention in bfloat16*",
    "attention_deltas.cu": "device attention*", "attention_tensor_core.cu": "device attention in bfloat16*", "bias_gradient.cu": "*gradient of a bias*",
    "column_sums.cu": "*gradient of a bias*", "dropout.cu": "*drops*,*masks of rows*", "elementwise.cu": "device sums*,device fill*",
    "embedding.cu": "*embeddings*", "layer_norm.cu": "device layer norm*",
    "layer_norm_backward.cu": "device gradients of layer norm*", "loss.cu": "device cross-entropy*",
    "numbers.cu": "device sums and norms*", "rms_norm.cu": "device rms_norm*"}

# Guards, as (file, text, what takes its place). Barriers are found by their name.
GUARDS = [
    ("map.cuh", "if (i + W <= count) {", "if (true) {"),
    ("map.cuh", "rest < count; ++rest", "rest < i + W; ++rest"),
    ("dropout.cu", "if (element >= part.count) break;", ""),
    ("dropout.cu", "if (element < 0) continue;", ""),
    ("embedding.cu", "const bool has_columns = c < channels;", "const bool has_columns = true;"),
    ("embedding.cu", "row <= last && tokens[row] == token", "tokens[row] == token"),
    ("column_sums.cu", "if (threadIdx.y != 0 || c >= columns) return;", "if (threadIdx.y != 0) return;"),
    ("bias_gradient.cu", "if (threadIdx.y != 0 || c >= columns) return;", "if (threadIdx.y != 0) return;"),
    ("bias_gradient.cu", "begin + rows_per_block < rows ? begin + rows_per_block : rows", "begin + rows_per_block"),
    ("layer_norm.cu", "if (row >= p.rows) return;", ""),
    ("rms_norm.cu", "if (row >= rows) return;", ""),
    ("rms_norm.cu", "if (row >= p.rows) return;", ""),
    ("layer_norm_backward.cu", "begin + p.rows_per_block < p.rows ? begin + p.rows_per_block : p.rows",
     "begin + p.rows_per_block"),
    ("loss.cu", "if (i >= 0 && i + W <= count) {", "if (i >= 0) {"),
    ("loss.cu", "if (i + k >= 0 && i + k < count)", "if (i + k >= 0)"),
    ("numbers.cu", "if (i + W <= end) {", "if (true) {"),
    ("attention_tiles.cuh", "if (row < valid && c < head_size)", "if (c < head_size)"),
    ("attention_forward.cu", "if (i >= p.length) continue;", ""),
    ("attention_backward.cu", "if (j >= p.length) continue;", ""),
    ("attention_backward.cu", "if (i >= p.length) return {0.0F, 0.0F, false};", ""),
    ("attention_core_gradients.cuh", "if (i >= p.length) return {kInfinity, 0.0F};", ""),
    ("attention_core_gradients.cuh", "if (row >= valid) continue;", ""),
    ("attention_deltas.cu", "i < p.length && d < p.head_size", "d < p.head_size"),
    ("attention_deltas.cu", "if (lane == 0 && i < p.length)", "if (lane == 0)"),
    ("attention_tensor_core.cu", "if (row >= p.length) continue;", ""),
    ("attention_tensor_core.cuh", "row < valid && c < head_size;", "c < head_size;"),
]
BARRIER = re.compile(r"__sync(?:threads|warp)\(\);|device::cp_async_wait<\d>\(\);")


class Mutant:
    """One changed line of one file."""

    def __init__(self, path, line, text, replacement):
        self.path, self.line, self.text, self.replacement = path, line, text, replacement

    def __str__(self):
        return f"{self.path.name}:{self.line}: {self.text.strip()}" + (
            f" -> {self.replacement.strip()}" if self.replacement.strip() else " removed")

    def apply(self):
        lines = self.path.read_text().splitlines()
        lines[self.line - 1] = lines[self.line - 1].replace(self.text, self.replacement or ";", 1)
        return "\n".join(lines) + "\n"

    @property
    def source(self):
        return KERNELS / SOURCE_OF_HEADER.get(self.path.name, self.path.name)


def all_mutants():
    mutants = []
    for path in sorted(list(KERNELS.glob("*.cu")) + list(KERNELS.glob("*.cuh"))):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for match in BARRIER.finditer(line.split("//")[0]):
                mutants.append(Mutant(path, number, match.group(), ""))
    for name, text, replacement in GUARDS:
        lines = (KERNELS / name).read_text().splitlines()
        numbers = [number for number, line in enumerate(lines, 1) if text in line]
        if not numbers:
            sys.exit(f"kernel_mutations.py: {name} has no guard `{text}`; correct the list GUARDS")
        mutants += [Mutant(KERNELS / name, number, text, replacement) for number in numbers]
    return mutants


class Build:
    """How the build compiles a checked kernel and links their module."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        commands = json.loads(subprocess.run(["ninja", "-t", "compdb"], cwd=self.folder, check=True, text=True,
                                             stdout=subprocess.PIPE).stdout)
        self.compile = {pathlib.Path(self.folder, entry["file"]).resolve(): entry for entry in commands
                        if "lockstep_device_kernels_checked.dir" in entry["output"]}
        if not self.compile:
            return
        self.link = subprocess.run(["ninja", "-t", "commands", "-s", f"lib/{MODULE}"], cwd=self.folder,
                                   check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]

    def make(self, mutant, folder):
        """Compiles the mutant and links the module with it, in front of everything else, in `folder`."""
        overlay = folder / "kernels/cuda"
        overlay.mkdir(parents=True)
        changed = overlay / mutant.path.name
        changed.write_text(mutant.apply())
        entry = self.compile[mutant.source]
        words = shlex.split(entry["command"])
        if "ccache" in words[0]:
            words = words[1:]
        source = changed if mutant.path == mutant.source else mutant.source
        words[words.index("-o") + 1] = str(folder / "mutant.o")
        words[words.index("-c") + 1] = str(source)
        words.insert(1, f"-I{folder}")
        for flag, has_value in (("-MD", False), ("-MT", True), ("-MF", True)):
            if flag in words:
                at = words.index(flag)
                del words[at:at + 1 + has_value]
        subprocess.run(words, cwd=self.folder, check=True)
        link = shlex.split(self.link.split("&&")[1])
        at = link.index("-o")
        link[at + 1] = str(folder / MODULE)
        link.insert(at, str(folder / "mutant.o"))
        subprocess.run(link, cwd=self.folder, check=True)


def is_noticed(tests, folder, mutant):
    """Runs the tests of the mutant's kernels with the module in `folder`; says what noticed it, or None."""
    environment = dict(os.environ, LOCKSTEP_EMULATOR_CHECK="1", LOCKSTEP_EMULATOR_SEED="0", LD_LIBRARY_PATH=str(folder))
    try:
        run = subprocess.run([str(tests), TESTS_OF_SOURCE[mutant.source.name]], env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_A_RUN)
    except subprocess.TimeoutExpired:
        return "did not end"
    if "No tests ran" in run.stdout:  # which Catch2 3 takes for a failure
        sys.exit(f"kernel_mutations.py: no test is named {TESTS_OF_SOURCE[mutant.source.name]}; correct TESTS_OF_SOURCE")
    if run.returncode == 0:
        return None
    reports = [line for line in run.stdout.splitlines() if "emulat" in line]
    return reports[0][:140] if reports else f"a test failed (status {run.returncode})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", default=os.environ.get("LOCKSTEP_ALL_MUTANTS") == "1")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="part of a mutant's description")
    options = parser.parse_args()
    mutants = [mutant for mutant in all_mutants() if options.only in str(mutant)]
    if options.list:
        print("\n".join(map(str, mutants)))
        return 0
    build = Build(options.build)
    if not build.compile:
        print("skipped: this build has no checked kernels")
        return 77
    if not options.all and not options.only:
        first = datetime.date.today().toordinal() * SAMPLE
        mutants = [mutants[(first + index) % len(mutants)] for index in range(min(SAMPLE, len(mutants)))]
    survivors = []
    for mutant in mutants:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lockstep_mutant_") as folder:
            build.make(mutant, pathlib.Path(folder))
            noticed = is_noticed(build.folder / "tests/device_kernels_test", folder, mutant)
        print(f"{mutant}: {noticed or 'NOT NOTICED'} ({time.monotonic() - begin:.0f} s)", flush=True)
        if noticed is None:
            survivors.append(mutant)
    print(f"{len(mutants) - len(survivors)} passed, {len(survivors)} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
