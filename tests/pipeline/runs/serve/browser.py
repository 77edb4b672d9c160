#!/usr/bin/env python3
"""Opens the pages of `flowtrain serve` in Chromium, without a window: no message on the console, the list has its runs,
and the page of a run follows new lines of metrics.jsonl.

usage: browser.py BUILD_FOLDER
Skipped, with the reason, where there is no Chromium or the program is not built.
"""
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "support"))
from browser_tests import program_or_skip  # noqa: E402

HOSTILE = "<img src=x onerror=document.title='hacked'>"


def train_line(iteration):
    return json.dumps({"kind": "train", "iter": iteration, "epoch": 1, "loss": 100 / iteration, "lr": 0.1,
                       "samples_per_s": 100, "data_wait": 0.1, "data_time": 0.01, "step_time": 0.09}) + "\n"


def write_run(folder):
    os.makedirs(folder)
    with open(folder + "/config.toml", "w") as file:
        file.write("[run]\nmax_iter = 100000\n")
    with open(folder + "/metrics.jsonl", "w") as file:
        file.writelines(train_line(iteration) for iteration in range(10, 1010, 10))


def open_page(url):
    """The page's HTML after a while, and what its scripts wrote on the console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
             "--window-size=1280,4000", "--virtual-time-budget=15000", "--enable-logging=stderr", "--dump-dom", url],
            capture_output=True, text=True, timeout=120)
    return done.stdout, re.findall(r"CONSOLE.*", done.stderr)


class Writer(threading.Thread):
    """Appends lines to a run until it is told to stop."""

    def __init__(self, run):
        super().__init__()
        self.file, self.over = run + "/metrics.jsonl", threading.Event()

    def run(self):
        iteration = 1000
        while not self.over.wait(0.1):
            iteration += 10
            with open(self.file, "a") as file:
                file.write(train_line(iteration))


def main():
    program = program_or_skip()
    failures = []

    def check(name, page, *texts):
        text, console = page
        failures.extend(f"{name}: console: {line}" for line in console)
        failures.extend(f"{name}: '{part}' is not on the page" for part in texts if part not in text)
        if "<title>hacked" in text:
            failures.append(name + ": a name was taken for markup")

    with tempfile.TemporaryDirectory() as folder:
        for name in ("plain", "hostile " + HOSTILE):
            write_run(f"{folder}/{name}")
        server = subprocess.Popen([program, "serve", folder, "--port", "0", "--token", "browser-test"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            first = server.stdout.readline().strip()
            base, query = first.split("?")
            check("list", open_page(first), "plain", html.escape(HOSTILE, quote=False), "2 runs", "✗ failed")
            writer = Writer(folder + "/plain")
            writer.start()
            page = open_page(f"{base}run/plain/?{query}")
            writer.over.set()
            writer.join()
            check("run", page, "● live", "<canvas")
            begun = re.search(r'"status":{"state":"failed","iter":(\d+)', page[0])
            shown = re.search(r'data-iteration="(\d+)"', page[0])
            if not begun or not shown or int(shown[1]) <= int(begun[1]):
                failures.append("run: the page does not follow its run")
            hostile = "hostile%20%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D%27hacked%27%3E"
            check("hostile", open_page(f"{base}run/{hostile}/?{query}"), "● live", "<canvas")
        finally:
            server.terminate()
            if server.wait(timeout=30) != 143:
                failures.append(f"serve ended with {server.returncode}")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
