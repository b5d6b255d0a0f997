#!/usr/bin/env python3
"""Writes unicode_ranges.cpp: the code points that are letters (category L) and numbers (category N).

    apt-get install unicode-data
    python3 common/train/data/make_unicode_ranges.py > common/train/data/unicode_ranges.cpp

UnicodeData.txt lists a code point per line, and large blocks by their first and last ("<CJK Ideograph, First>").
"""
import re

FOLDER = "/usr/share/unicode"


def ranges_of(letter):
    ranges, block_begin = [], None
    for line in open(f"{FOLDER}/UnicodeData.txt", encoding="ascii"):
        code, name, category = line.split(";")[:3]
        code = int(code, 16)
        if name.endswith(", First>"):
            block_begin = code
            continue
        first = block_begin if name.endswith(", Last>") else code
        if not category.startswith(letter):
            continue
        if ranges and ranges[-1][1] + 1 == first:
            ranges[-1][1] = code
        else:
            ranges.append([first, code])
    return ranges


def table(name, ranges):
    lines, line = [], ""
    for first, last in ranges:
        item = f"{{0x{first:X}, 0x{last:X}}}, "
        if len(line + item) > 118:
            lines.append(line.rstrip())
            line = ""
        line += item
    lines.append(line.rstrip())
    body = "\n".join("    " + text for text in lines)
    return f"constexpr std::array<CodePointRange, {len(ranges)}> {name} = {{{{\n{body}\n}}}};\n"


def main():
    head = open(f"{FOLDER}/Scripts.txt", encoding="utf-8").readline()
    version = re.search(r"Scripts-([0-9.]+)\.txt", head).group(1)
    print("// Made by make_unicode_ranges.py from the files of Unicode " + version + "; not to be edited.")
    print("// clang-format off")
    print('#include "data/unicode_ranges.hpp"\n\n#include <array>\n\nnamespace lockstep::data {\n\nnamespace {\n')
    print(table("kLetters", ranges_of("L")))
    print(table("kNumbers", ranges_of("N")))
    print("}  // namespace\n")
    print("std::span<const CodePointRange> letter_ranges() noexcept { return kLetters; }")
    print("std::span<const CodePointRange> number_ranges() noexcept { return kNumbers; }\n")
    print("}  // namespace lockstep::data")


main()
