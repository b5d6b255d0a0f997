"""Writing text: tokens per second with and without a key-value cache, models of several sizes with random weights."""
import argparse
import json
import os
import sys

from bench_common import BIN, end, note_failure, run, write_record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="tiny,small,124m")
    parser.add_argument("--tokens", default="200", help="behind a prompt of three tokens")
    parser.add_argument("--rounds", default="3", help="the best of them counts")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = []
    for model in arguments.models.split(","):
        output = run([os.path.join(BIN, "generate_bench"), model, arguments.tokens, arguments.rounds])
        print(output, end="")
        rows += [json.loads(line) for line in output.splitlines()]
        if not output:
            note_failure(model)
    if not rows:
        sys.exit("bench: no result; is the target generate_bench built? (ninja -C build/cpu generate_bench)")
    if arguments.out:
        write_record(arguments.out, "generating text with and without a key-value cache, CPU, random weights", rows)
    end()


main()
