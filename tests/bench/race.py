"""Chapter 02's race (star, mesh and ring all-reduce over TCP): records what it prints."""
import argparse
import os
import re
import sys

from bench_common import BIN, run, write_record

# The columns of race's tables behind the algorithm's name.
COLUMNS = ["world_size", "busiest_sends_bytes", "microseconds", "model_microseconds", "ratio_to_model",
           "one_host_microseconds", "ratio_to_one_host"]


def number(text):
    return float(text) if "." in text else int(text)


def rows_of(output):
    """Alpha and beta, and a row per algorithm, number of ranks and buffer."""
    link, rows, size = {}, [], 0
    for line in output.splitlines():
        line = line.removeprefix("[rank 0] ")
        cells = re.split(r" {2,}", line)
        if match := re.match(r"alpha ([\d.]+) us, beta ([\d.]+) GB/s", line):
            link = {"alpha_us": float(match[1]), "beta_gb_s": float(match[2])}
        elif match := re.match(r"(\d+) bytes on each rank", line):
            size = int(match[1])
        elif len(cells) == len(COLUMNS) + 1 and cells[1] != "ranks":
            values = dict(zip(COLUMNS, map(number, cells[1:])))
            rows.append({"algorithm": cells[0], "bytes": size, **values})
    return link, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world-sizes", default="2,4,8")
    parser.add_argument("--bytes", default="1024,1048576")
    parser.add_argument("--repeat", default="51")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    output = run([os.path.join(BIN, "race"), "--world-sizes", arguments.world_sizes, "--bytes", arguments.bytes,
                  "--repeat", arguments.repeat])
    print(output, end="")
    link, rows = rows_of(output)
    if not link or not rows:
        sys.exit("bench: race printed no table")
    if arguments.out:
        write_record(arguments.out, "race: star, mesh and ring all-reduce over TCP, processes of one machine", rows,
                     link=link)


main()
