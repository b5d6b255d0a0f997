#!/usr/bin/env python3
"""Records how GPT-2's tokenizer cuts hard texts: gpt2_tokens.json.

    apt-get install python3-regex
    python3 tests/train/data/record_gpt2_tokens.py VOCABULARY MERGES > tests/train/data/gpt2_tokens.json

VOCABULARY and MERGES are the published vocab.json and merges.txt of GPT-2 (50257 tokens, 50000 merges; OpenAI, modified
MIT license), also known as encoder.json and vocab.bpe. This is the definition written out, slowly and without any code
of ours: the regular expression by the module `regex`, and the best pair searched anew for each merge.

The whole vocabulary has 1.5 MB. The file keeps what the texts need: every merge that can apply at any moment while they
are encoded, and every token that then exists. With fewer merges the same ones apply, so the result is the same, and the
numbers are the published ones. OpenAI's own implementation, tiktoken (npm package tiktoken 1.0.22, get_encoding("gpt2")
.encode(text, "all")), gave the same numbers for all of them when they were recorded.
"""
import json
import sys

import regex

PATTERN = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "a", " a", "a ", "Hello world", "Hello, world!", "hello  world", "   three before", "two after  ",
    "\n", "\n\n", "line\nline\n", "a \n b", "a\n \n\tb", "\t\ttabs\t", "\r\n\r\nDOS\r\n", " \u00a0 no-break \u00a0",
    "\u3000ideographic\u3000space", "thin\u2009\u2009spaces\u200a", "zero\u200bwidth\u200djoiner\ufeff", "a\x0b\x0cb",
    "line\u2028separator\u2029paragraph", "next\x85line", "\x1c\x1d\x1e\x1f separators", "nul\x00byte", "\x7f\x80",
    "I'm you're he'd she'll we've it's can't", "I'M YOU'RE HE'D SHE'LL WE'VE IT'S CAN'T", "'s 't 're", " 's  't",
    "''s", "rock'n'roll", "'tis o'clock 'twas", "dogs' 'quoted'", "y'all'd've", "it\u2019s", "!'s", "1's", "'\u017f",
    "123", "1234567890", " 12 345", "3.14159", "1,000,000", "12abc34", "x2y", "0x1F", "1e-10", "-5", "$9.99", "50%",
    "\u0661\u0662\u0663", "\u0967\u0968\u0969 \u09e7", "\u216b\u2160\u2181", "x\u00b2\u00b3", "\u00bd\u2153", "\u2460\u3220",
    "\u3007\u4e00\u4e8c", "\U00010140\U0001d7d8", "caf\u00e9", "cafe\u0301", "na\u00efve", "\u00dcber \u00df \u1e9e",
    "e\u0301\u0302\u0303", "\u0301", " \u0301a", "\u0e01\u0e33\u0e25\u0e31\u0e07", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd", "\u4f60\u597d\uff0c\u4e16\u754c\uff01",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c", "\uc548\ub155\ud558\uc138\uc694", "\u1112\u1161\u11ab", "\U00020000\U0002a6d6",
    "\u041f\u0440\u0438\u0432\u0435\u0442", "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5", "\u02b0\u02bc\u02bb", "\u00aa\u00ba\u00b5",
    "\U0001f600", "\U0001f600\U0001f601 \U0001f602", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "a\U0001f600b", "\U0001f600's", "\u20ac\u00a3\u00a5", "\u221e\u2211\u222b",
    "\u2014em\u2013en", "\u201cquotes\u201d \u2018single\u2019", "\u2026", "...", "?!?!", "((()))", "a-b_c", "foo_bar", "__init__",
    "http://example.com/a?b=c&d=e", "user@example.com", "C++ <tag> </tag>", "\\n \\t", "#!/bin/sh", "// comment", "/* x */",
    "if (x == 1) {\n    return y;\n}\n", "for i in range(10):\n\tprint(i)\n", "        deep", "\n\n\n   \n", "x   \n   y",
    "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> <|endoftext|>\n", "<|endoftext|", "<|endoftext|><|endoftext|>",
    "<|ENDOFTEXT|>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab", "------------------------", "hahahahahaha",
    "supercalifragilisticexpialidocious", "antidisestablishmentarianism", "\u0120 \u0100", "\u00c3\u00a9", "\ufffd",
    "\ue000\uf8ff", "\U000e0041\U0010ffff", "\u0378\u0379", "\u180e\u2060", "\u1680ogham\u1680", "\u2150 \u2188 \u2189",
    "The quick brown fox jumps over the lazy dog. 1,234 times; isn't that something?",
]
SPECIAL = "<|endoftext|>"


def byte_characters():
    """The character that stands for each byte in the two files."""
    printed = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [byte for byte in range(256) if byte not in printed]
    table = {byte: chr(byte) for byte in printed}
    table.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return table


class Recorder:
    def __init__(self, vocabulary, merges):
        self.ids = vocabulary
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.characters = byte_characters()
        self.needed_pairs = set()
        self.needed_tokens = set(self.characters.values()) | {SPECIAL}

    def merge(self, word):
        while len(word) > 1:
            pairs = {pair for pair in zip(word, word[1:]) if pair in self.ranks}
            self.needed_pairs |= pairs
            if not pairs:
                break
            best = min(pairs, key=self.ranks.get)
            merged, i = [], 0
            while i < len(word):
                is_best = tuple(word[i:i + 2]) == best
                merged.append("".join(best) if is_best else word[i])
                i += 2 if is_best else 1
            word = merged
        return word

    def encode(self, text):
        ids = []
        for i, part in enumerate(text.split(SPECIAL)):
            if i > 0:
                ids.append(self.ids[SPECIAL])
            for word in PATTERN.findall(part):
                for token in self.merge([self.characters[byte] for byte in word.encode("utf-8")]):
                    ids.append(self.ids[token])
        return ids


def read_merges(path):
    lines = open(path, encoding="utf-8").read().split("\n")[1:]
    return [tuple(line.split()) for line in lines if line]


def main(vocabulary_path, merges_path):
    vocabulary, merges = json.load(open(vocabulary_path, encoding="utf-8")), read_merges(merges_path)
    recorder = Recorder(vocabulary, merges)
    cases = [{"text": text, "ids": recorder.encode(text)} for text in TEXTS]
    pairs = [pair for pair in merges if pair in recorder.needed_pairs]
    for left, right in pairs:
        recorder.needed_tokens |= {left, right, left + right}
    tokens = {token: vocabulary[token] for token in sorted(recorder.needed_tokens, key=vocabulary.get)}
    source = "OpenAI's GPT-2 (2019, modified MIT license): the part of its vocabulary that the texts need"
    record = {"source": source, "vocabulary_size": len(vocabulary), "vocabulary": tokens,
              "merges": [" ".join(pair) for pair in pairs], "cases": cases}
    text = json.dumps(record, separators=(",", ":"))
    for key in record:
        text = text.replace(f'"{key}":', f'\n"{key}":', 1)
    print(text.replace('},{"text"', '},\n{"text"'))


main(*sys.argv[1:])
