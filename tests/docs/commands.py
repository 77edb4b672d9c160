#!/usr/bin/env python3
"""Makes docs/commands.md from what the program says with --help, or compares the page with it.

    tests/docs/commands.py PROGRAM            fails if the page is not what PROGRAM says
    tests/docs/commands.py PROGRAM --write    writes the page

Versions of CLI11 lay out a help differently, so the comparison ignores spaces and the ends of lines.
"""
import difflib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/commands.md"
RENEW = "tests/docs/commands.py build/release/bin/flowtrain --write"
SHARED_BY = 6  # An option that so many commands have is described once.
MORE = {  # the page that describes a command
    "train": "training.md", "test": "testing.md", "predict": "predict.md", "bench": "profiling.md", "pack": "pack.md",
    "tokenizer": "text.md", "generate": "text.md#generate",
    "replay": "runs.md#when-something-goes-wrong", "hooks": "hooks.md", "snapshot": "runs.md#resuming",
    "export": "export.md", "serve": "watching.md", "watch": "watching.md", "metrics": "runs.md#files-of-a-run",
    "report": "runs.md#the-report", "verify": "verify.md", "postmortem": "postmortem.md", "plugins": "extending.md",
    "plugin": "extending.md#begin-a-sampler-plugin-and-check-any", "info": "runs.md#the-layers-of-a-net",
    "config": "../pipeline/base/config/README.md"}
HEAD = f"""# Commands
`flowtrain CONFIG` trains; every other task has a command of its own. This page is what the program says with `--help`:
`{RENEW}` writes it anew.
"""


def said(program, *words):
    ran = subprocess.run([program, *words, "--help"], stdout=subprocess.PIPE, text=True, check=True)
    return "\n".join(line.rstrip() for line in ran.stdout.split("\n")).strip("\n")


def listed(text):
    """Returns the commands that the program's --help lists: (heading or '', name, usage, help)."""
    heading, found = "", []
    for line in text.split("\n"):
        if title := re.fullmatch(r"([A-Z].*):", line):
            heading = title[1]
        elif entry := re.fullmatch(r" +(\[?([a-z][a-z-]*)\]?(?: \S+)*?) {2,}(\S.*)", line):
            if entry[2] != "flowtrain":
                found.append((heading, entry[2], entry[1], entry[3]))
        elif found and re.match(r" {8,}\S", line) and not re.match(r" +\d", line):
            found[-1] = (*found[-1][:3], f"{found[-1][3]} {line.strip()}")
        elif line.startswith(("environment", "exit codes")):
            break
    return found


def exit_codes(text):
    """Returns the exit codes that the program's --help lists: (code, meaning)."""
    paragraph = re.search(r"exit codes:((?:.+\n?)+)", text)[1]
    entries = re.split(r"(?:,|\n)\s+(?=\d)", paragraph.strip())
    found = [re.fullmatch(r"(\d+(?: \([^)]*\))?(?:(?:,| or) \d+)?) +(.*)", " ".join(each.split())) for each in entries]
    return [(each[1], each[2]) for each in found]


def entries(block):
    """Splits a list of --help into its entries; further lines of an entry are indented by at least 20 columns."""
    found = []
    for line in block.split("\n"):
        if line.startswith(" " * 20) and found:
            found[-1] += "\n" + line
        elif line.strip():
            found.append(line)
    return found


class Help:
    """A command's --help: its description, usage and lists (Positionals, Options, Subcommands)."""

    def __init__(self, words, text):
        self.words = words
        about, _, rest = text.partition("Usage: ")
        self.about = about.strip()
        self.usage, _, rest = rest.partition("\n")
        self.lists = {name.capitalize(): entries(block) for name, block in
                      re.findall(r"^(\w+):\n(.*?)(?=^\S|\Z)", rest, re.M | re.S)}
        self.lists["Options"] = [each for each in self.lists.get("Options", []) if "--help" not in each]

    def subcommands(self):
        return [each.split()[0] for each in self.lists.get("Subcommands", [])]

    def page(self, shared):
        usage = self.usage.replace(" [OPTIONS]", "") + (" [OPTIONS]" if self.lists["Options"] else "")
        about = self.about[:1].upper() + self.about[1:] + "." * (self.about[-1:] not in ".:")
        about = re.sub(r"(?<=[.:])\n", "\n\n", about.replace("<", "\\<"))
        lines = [f"{'#' * (2 + len(self.words))} flowtrain {' '.join(self.words)}", about, ""]
        own = [each for each in self.lists["Options"] if each not in shared]
        shown = self.lists.get("Positionals", []) + own + self.lists.get("Subcommands", [])
        lines += ["```text", usage, *[""] * bool(shown), *shown, "```"]
        if any(each in shared for each in self.lists["Options"]):
            lines += ["", "The [shared options](#shared-options) apply, too."]
        if more := MORE.get(" ".join(self.words)):
            lines += ["", f"More: [{more.split('#')[0].removeprefix('../')}]({more})"]
        return "\n".join(lines) + "\n\n"


def render(program):
    overview = said(program)
    commands = listed(overview)
    helps = []
    for _, name, _, _ in commands:
        helps.append(Help((name,), said(program, name)))
        helps += [Help((name, word), said(program, name, word)) for word in helps[-1].subcommands()]
    counts = Counter(option for each in helps for option in each.lists["Options"])
    shared = [option for option, count in counts.items() if count >= SHARED_BY]

    page, heading = HEAD, None
    for group, name, usage, text in commands:
        if group != heading:
            page += (f"\n**{group}**\n\n" if group else "\n") + "| command | purpose |\n|---|---|\n"
            heading = group
        usage, text = (cell.replace("|", "\\|") for cell in (usage, text))
        page += f"| [`{usage}`](#flowtrain-{name}) | {text} |\n"
    page += "\n## Exit codes\n| code | meaning |\n|---|---|\n"
    page += "".join(f"| {code} | {meaning} |\n" for code, meaning in exit_codes(overview))
    page += "\n`verify` and `plugin check` have exit codes of their own, which stand in their sections. "
    page += "[Signals](runs.md#signals)\nlists the signals and their exit codes.\n"
    page += "\n## Shared options\nMost commands that take a CONFIG have these options:\n\n```text\n"
    page += "\n".join(shared) + "\n```\n\n"
    page += "## The commands one by one\n" + "".join(each.page(shared) for each in helps)
    return page.rstrip("\n") + "\n"


def main():
    wanted = render(sys.argv[1])
    if "--write" in sys.argv:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    if page.split() != wanted.split():
        difference = difflib.unified_diff(page.split("\n"), wanted.split("\n"), "docs/commands.md",
                                          "flowtrain --help", lineterm="", n=1)
        print("\n".join(list(difference)[:40]))
        print(f"error: docs/commands.md is not what the program says; renew it: {RENEW}")
        return 1
    print("docs/commands.md is what the program says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
