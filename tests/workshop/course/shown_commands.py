"""shown_commands.py ROOT PROGRAMS: every `./lockstep ...` that a page shows is one that can be typed.

Lessons and labs have their commands run by check_lesson_commands. This looks at the code in all pages, guides and tasks
too: the command exists, so does the program or chapter that it names, and each option is one that the help of that
command or program lists. Words in capitals and `...` stand for something else and are left alone.

Exit status 1 and a line for each command that cannot be typed.
"""

import functools
import pathlib
import re
import shlex
import subprocess
import sys

EXERCISES = "start check watch why hint compare progress reset use-reference next author case predict".split()
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
# Up to what ends it in a shell, or to a column of explanations.
COMMAND = re.compile(r"(?:^|[\s;&|(`])\./lockstep((?:'[^']*'|\"[^\"]*\"|\\\n|[^\n`;&|<>#)]| ?(?=`))*)", re.MULTILINE)


def parts_of(text):
    """The words of a command as shown, or as many of them as come before a quote that is left open."""
    text = re.split(r" {3,}|\s#", text.replace("\\\n", " "))[0]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


class Tool:
    def __init__(self, root, programs):
        self.root, self.programs = root, programs

    @functools.lru_cache(maxsize=None)
    def help_of(self, *command):
        """What it prints for --help; empty where there is no such program."""
        if not pathlib.Path(command[0]).is_file():
            return ""
        done = subprocess.run(
            [*command, "--help"], cwd=self.root, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout + done.stderr

    def help_of_tool(self, command, rest=()):
        if command == "docs":
            return self.help_of(sys.executable, f"{self.root}/docs/site/build.py")
        if command == "release":
            return self.help_of(f"{self.programs}/lockstep_make_release")
        program = {"submit": "lockstep_grade", "grade": "lockstep_grade"}.get(command, "lockstep")
        program = "lockstep_exercises" if command in EXERCISES else program
        names = [rest[0]] if command in ("bench", "data") and rest and rest[0].islower() else []
        return self.help_of(f"{self.programs}/{program}", command, *names)

    def commands(self):
        """Those that `./lockstep --help` lists."""
        text = self.help_of(f"{self.programs}/lockstep")
        listed = re.findall(r"^  ([a-z-]+(?:, [a-z-]+)*)", text, re.MULTILINE)
        return {name for entry in listed for name in entry.replace(",", " ").split()} | set(EXERCISES)

    def problem(self, words):
        words = [word for word in words if word != "--no-install"]
        if not words or is_placeholder(words[0]) or words[0].startswith("-"):
            return ""
        command, rest = words[0], words[1:]
        if command not in self.commands():
            return f"there is no command {command}"
        if command == "bench" and rest and is_placeholder(rest[0]):
            return ""
        own, behind = split_at_dashes(rest)
        if command == "run":
            return self.problem_of_run(own, behind)
        if command == "launch" and behind and not is_placeholder(behind[0]):
            problem = self.problem_of_program(behind[0], behind[1:])
            if problem:
                return problem
        return unknown_option(own, lambda: self.help_of_tool(command, own))

    def problem_of_run(self, own, behind):
        if not own or is_placeholder(own[0]):
            return ""
        chapters = list((self.root / "chapters").glob(own[0] + "_*"))
        if len(chapters) != 1:
            return f"there is no chapter {own[0]}"
        if len(own) == 1 or is_placeholder(own[1]):
            return ""
        if own[1].startswith("-"):  # for the chapter's trainer
            trainers = [path.stem for path in chapters[0].glob("programs/train_gpt_*.cpp")]
            return unknown_option(
                own[1:] + behind, lambda: self.help_of_tool("run") + "".join(map(self.help_of_program, trainers))
            )
        if not list(chapters[0].glob(f"programs/{own[1]}.c*")):
            return f"chapter {own[0]} has no program {own[1]}"
        return unknown_option(own[2:] + behind, lambda: self.help_of_tool("run") + self.help_of_program(own[1]))

    def help_of_program(self, name):
        return self.help_of(f"{self.programs}/{name}")

    def problem_of_program(self, name, arguments):
        """Of a program that launch starts; one of the reader's own may be anything."""
        return unknown_option(arguments, lambda: self.help_of_program(name)) if "/" not in name else ""


# What must be found.
WRONG = """
ladder
run 02 ring_step
run 22 ring_steps
run 02 ring_steps --worldsize 4
run 06 --nosync
launch --nprocs 2 -- train_gpt_ddp
launch --nproc 2 -- train_gpt_ddp --step 4
check --fully
bench race --rankss 4
docs --server
"""


def is_placeholder(word):
    return not re.search(r"[a-z0-9]", word)


def split_at_dashes(words):
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def unknown_option(words, text):
    """The first of `words` that is an option and not in `text()`, which is asked for only if there are options."""
    names = [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]
    for name in names:
        if not re.search(rf"(?<![\w-]){name}(?![\w-])", text()):
            return f"its help does not have {name}"
    return ""


def main():
    root, programs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    tool, count, problems = Tool(root, programs), 0, []
    folders = ("chapters", "common", "docs", "exercises", "tests")
    pages = [page for folder in folders for page in (root / folder).rglob("*.md")]
    for page in sorted([root / "README.md", *pages]):
        text = page.read_text(encoding="utf-8")
        for code in CODE.finditer(text):
            for match in COMMAND.finditer(code.group().rstrip("`")):
                count += 1
                problem = tool.problem(parts_of(match.group(1)))
                if problem:
                    line = text.count("\n", 0, code.start() + match.start(1)) + 1
                    problems.append(f"{page.relative_to(root)}:{line}: ./lockstep{match.group(1)}: {problem}")
    for wrong in WRONG.strip().splitlines():
        if not tool.problem(wrong.split()):
            problems.append(f"shown_commands.py itself: takes ./lockstep {wrong}")
    print(*problems, f"{count} commands shown, {len(problems)} of them cannot be typed", sep="\n")
    return 1 if problems or count < 100 else 0


sys.exit(main())
