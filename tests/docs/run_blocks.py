#!/usr/bin/env python3
"""Runs every code block of README, docs/ and python/README as it stands, in a folder like a user's checkout.

    tests/docs/run_blocks.py BUILD [PACKAGES] [PAGE…]    PACKAGES: the folder of NumPy and nanobind, or ''

A block is fenced, and its language says what is done with it:

    sh           each command has to succeed
    toml         `flowtrain config` has to take it, and training with it has to work
    python       it runs; the blocks of a page share their names
    cpp, cmake   tests/extending/run.sh and tests/consumer/run.sh build those of their pages
    text         is shown, not run: output, listings

HTML comments above a block say more (a block may have several):

    not run: REASON     it cannot run here
    nightly: REASON     it runs in tier nightly alone
    resolved: REASON    it is not trained: `flowtrain config` takes the block, or the commands' arguments
    needs: NAME…        modules of Python or programs without which it is skipped
    with: FILE          the block of toml is a part of a configuration with this base
    file: NAME          the block of toml is stored under this name
    then: COMMAND       is run after the block of toml, which it calls FILE
    beside: COMMAND     is a training that runs while the block does
    exit: CODE          the last command ends with this exit code
    until Ctrl-C        each command is interrupted after a few seconds

setup/PAGE.sh and setup/PAGE.py run before the blocks of a page. The `flowtrain` that they and the blocks find is
program.sh, which makes trainings short.
"""
import concurrent.futures
import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP = Path(__file__).resolve().parent / "setup"
BUILT = {"docs/extending.md": "tests/extending/run.sh", "docs/library.md": "tests/consumer/run.sh"}
LANGUAGES = {"sh", "toml", "python", "text", "cpp", "cmake", "json"}
MARKS = {"not run", "nightly", "resolved", "needs", "with", "file", "then", "beside", "exit", "until Ctrl-C"}
NIGHTLY = os.environ.get("FLOWTRAIN_TEST_TIER") == "nightly"


class Block:
    """A fenced block: where it is, its language and text, and the marks above it."""

    def __init__(self, page, line, language, text, marks):
        self.page, self.line, self.language, self.text, self.marks = page, line, language, text, marks

    def __str__(self):
        return f"{self.page}:{self.line}"


def read_page(page):
    """All blocks of a page. An indented one has no language, and a mark that nobody knows is an error."""
    blocks, marks, fence, previous = [], {}, None, ""
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").split("\n"), 1):
        if fence:
            if line == "```":
                blocks.append(fence)
                fence, marks = None, {}
            else:
                fence.text += line + "\n"
        elif opened := re.fullmatch(r"```(.*)", line):
            fence = Block(page, number, opened[1], "", marks)
        elif mark := re.fullmatch(r"<!-- ([^:]+)(?:: (.*))? -->", line):
            marks[mark[1]] = mark[2] or ""
        elif re.match(" {4}\\S", line) and (not previous.strip() or previous.startswith("#")):
            blocks.append(Block(page, number, "", line, marks))
        elif line.strip():
            marks = {}
        previous = line
    for block in blocks:
        if unknown := set(block.marks) - MARKS:
            raise SystemExit(f"{block}: no mark is called {unknown}")
    return blocks


def missing(block):
    """What a block needs and this machine lacks."""
    names = block.marks.get("needs", "").split() + (["flowtrain._core"] if block.language == "python" else [])
    for name in names:
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(name):
                continue
        if not shutil.which(name):
            return name
    return None


class Folder:
    """A page's folder, in which its blocks run one after the other."""

    def __init__(self, page, build, folder):
        self.folder, self.names = folder, {"__name__": "__main__"}
        for entry in ROOT.iterdir():
            if entry.name not in ("configs", "build", ".git", "runs", "dist"):
                (folder / entry.name).symlink_to(entry)
        shutil.copytree(ROOT / "configs", folder / "configs")
        (folder / "build/release/bin").mkdir(parents=True)
        for entry in build.iterdir():
            if entry.name != "bin":
                (folder / "build/release" / entry.name).symlink_to(entry)
        programs = folder / "build/release/bin"
        shutil.copy(SETUP.parent / "program.sh", programs / "flowtrain")
        python = f'#!/bin/sh\nexec "{sys.executable}"'
        for name, extra in (("python", ""), ("python3", ""), ("torchrun", "-m torch.distributed.run")):
            (programs / name).write_text(f'{python} {extra} "$@"\n')
            (programs / name).chmod(0o755)
        os.environ.update(PATH=f"{programs}:{os.environ['PATH']}", FLOWTRAIN=str(programs / "flowtrain"),
                          FLOWTRAIN_DOCS_PROGRAM=str(build / "bin/flowtrain"), HOME=str(folder), NO_COLOR="1",
                          PYTHONDONTWRITEBYTECODE="1")
        os.chdir(folder)
        name = page.removesuffix(".md").replace("/", "_")
        if (SETUP / f"{name}.sh").exists():
            self.shell(f"set -euo pipefail\nfixtures={SETUP.parent}/fixtures.py\n" + (SETUP / f"{name}.sh").read_text())
        self.preamble = SETUP / f"{name}.py"

    @staticmethod
    def shell(script, code=0, **environment):
        ran = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=os.environ | environment)
        output = ran.stdout.decode(errors="replace")
        if ran.returncode != code:
            raise RuntimeError(f"exit code {ran.returncode}, not {code}:\n{output[-4000:]}")

    def run_sh(self, block):
        marks, other = block.marks, None
        if "until Ctrl-C" in marks:
            for line in block.text.splitlines():
                self.shell(f"timeout --signal=INT 4 {line}", 124)
            return
        if "beside" in marks:
            with open("beside.log", "w") as log:
                other = subprocess.Popen(marks["beside"].split(), stderr=log)
            while other.poll() is None and "iter " not in Path("beside.log").read_text():
                time.sleep(0.05)
        resolved = {"FLOWTRAIN_DOCS_RESOLVED": "1"} if "resolved" in marks else {}
        try:
            self.shell("set -exuo pipefail\n" + block.text, int(marks.get("exit", 0)), **resolved)
        finally:
            if other:
                other.terminate()

    def run_toml(self, block):
        name = block.marks.get("file", f"block-{block.line}.toml")
        base = f'base = ["{block.marks["with"]}"]\n' if "with" in block.marks else ""
        Path(name).write_text(base + block.text)
        self.shell(f"flowtrain config {name} >out.log || {{ cat out.log; exit 1; }}")
        if "resolved" not in block.marks:
            self.shell(f"flowtrain {name}")
        if "then" in block.marks:
            self.shell(block.marks["then"].replace("FILE", name))

    def run_python(self, block):
        if self.preamble.exists() and "ready" not in self.names:
            self.names["ready"] = True
            exec(compile(self.preamble.read_text(), str(self.preamble), "exec"), self.names)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * block.line + block.text, block.page, "exec"), self.names)


def judge(block):
    """What becomes of a block: 'run', or another word and the reason."""
    marks = block.marks
    if block.language not in LANGUAGES:
        return "failed", "a block needs a language: " + ", ".join(sorted(LANGUAGES))
    if "not run" in marks:
        return "marked", marks["not run"]
    if block.language in ("text", "json"):
        return "shown", ""
    if block.language in ("cpp", "cmake"):
        return ("built", "by " + BUILT[block.page]) if block.page in BUILT else ("failed", "no test builds this page")
    if "nightly" in marks and not NIGHTLY:
        return "marked", "in tier nightly: " + marks["nightly"]
    if name := missing(block):
        return "skipped", name
    return "run", marks.get("resolved", "")


def run_page(page, build, result):
    """In a process of its own: runs a page's blocks, and stores what became of each."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="flowtrain-docs-") as folder:
        place = Folder(page, build, Path(folder))
        for block in read_page(page):
            word, reason = judge(block)
            began = time.monotonic()
            if word == "run":
                try:
                    getattr(place, f"run_{block.language}")(block)
                    if block.marks.get("resolved"):
                        word = "resolved"
                except RuntimeError as error:
                    word, reason = "failed", str(error)
                except Exception:
                    word, reason = "failed", traceback.format_exc()
            outcomes.append((str(block), block.language, word, reason, time.monotonic() - began))
        os.chdir("/")
    Path(result).write_text(json.dumps(outcomes))


def start_page(page, arguments, environment):
    """Runs a page in another process; its outcomes."""
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        ran = subprocess.run([sys.executable, __file__, *arguments, "--page", page, result.name], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        text = Path(result.name).read_text()
    return json.loads(text) if text else [(page, "", "failed", ran.stdout[-6000:], 0)]


def main():
    build, packages = Path(sys.argv[1]).resolve(), (sys.argv + [""])[2]
    if "--page" in sys.argv:
        return run_page(sys.argv[-2], build, sys.argv[-1])
    pages = sys.argv[3:] or ["README.md", "python/README.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
    if NIGHTLY and not sys.argv[3:]:
        pages = [page for page in pages if any("nightly" in block.marks for block in read_page(page))]
    slow = ("python/README.md", "docs/training.md", "docs/runs.md")  # They begin, so that none of them ends alone.
    pages.sort(key=lambda page: page not in slow)
    paths = [str(build / "python"), packages, os.environ.get("FLOWTRAIN_TEST_PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, paths))}
    totals, skipped = Counter(), Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for page, outcomes in zip(pages, pool.map(lambda p: start_page(p, sys.argv[1:3], environment), pages)):
            counts = Counter(f"{language} {word}" for _, language, word, _, _ in outcomes)
            seconds = sum(took for *_, took in outcomes)
            print(f"{page}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + f" ({seconds:.0f} s)")
            for where, language, word, reason, took in outcomes:
                totals[word] += 1
                skipped[reason] += word == "skipped"
                if word in ("marked", "resolved", "failed") or took > 10:
                    print(f"  {where}: {language}: {word}: {reason} ({took:.0f} s)")
    print(f"docs: {sum(totals.values())} blocks: " + ", ".join(f"{n} {word}" for word, n in sorted(totals.items())))
    for name in +skipped:
        print(f"skipped: [{'python-torch' if name == 'torch' else name}] {skipped[name]} blocks need {name}")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
