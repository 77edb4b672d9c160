#!/usr/bin/env python3
"""Opens pages of `flowtrain report` in Chromium, without a window: no message on the console, and the charts are there.

usage: browser.py BUILD_FOLDER
Skipped, with the reason, where there is no Chromium or the program is not built.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HOSTILE = ["</script><script>document.title='hacked'</script>", '"\'`', "\u2028",
           "<img src=x onerror=document.title='hacked'>"]


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def write_run(folder, lr, name):
    os.makedirs(folder + "/snapshots")
    with open(folder + "/config.toml", "w") as file:
        file.write(f'name = "browser"\n[optim]\nlr = {lr}  # a.toml:3:1\n[val]\nmetrics = ["accuracy"]\n')
    with open(folder + "/metrics.jsonl", "w") as file:
        for i in range(1, 101):
            line = {"kind": "train", "iter": 10 * i, "epoch": 1, "loss": 2 / i, "lr": lr, "samples_per_s": 100 + i % 7,
                    "data_wait": 0.1, "data_time": 0.01, "step_time": 0.09, "grad_norm": 1 / i, "elapsed_s": i,
                    "samples": 640 * i, "queue_fill": 0.5}
            file.write(json.dumps(line) + "\n")
            if i % 20 == 0:
                file.write(json.dumps({"kind": "val", "iter": 10 * i, "loss": 3 / i, "accuracy": i / 100,
                                       "accuracy." + name: i / 110}) + "\n")
        file.write(json.dumps({"kind": "resume", "iter": 400}) + "\n")
    names = ["plan", "compute", name]
    graph = {"iterations_per_epoch": 500, "last_iteration": 1000,
             "nodes": [{"name": each, "label": each + "\nwork", "thread": True} for each in names],
             "edges": [{"from": "plan", "to": "compute", "label": "queue"},
                       {"from": "compute", "to": "plan", "label": ""}, {"from": "compute", "to": name, "label": name}]}
    json.dump(graph, open(folder + "/graph.json", "w"))
    with open(folder + "/confusion.csv", "w") as file:
        quoted = '"' + name.replace('"', '""') + '"'
        file.write(f"label,{quoted},dog\n{quoted},5,1\ndog,2,9\n")
    with open(folder + "/bad_samples.jsonl", "w") as file:
        file.write(json.dumps({"iter": 3, "id": 1, "name": name, "reason": name}) + "\n")


def open_page(page):
    """The page's HTML after its scripts have run, and what they wrote on the console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
             "--window-size=1280,8000", "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom",
             "file://" + page], capture_output=True, text=True, timeout=120)
    return done.stdout, re.findall(r"CONSOLE.*", done.stderr)


def check(page, charts, texts):
    html, console = open_page(page)
    failures = [f"console: {line}" for line in console]
    drawn = len(re.findall(r'<div class="plot">.{0,4000}?<canvas', html, re.S))
    if drawn < charts:
        failures.append(f"{drawn} charts are drawn, not {charts}")
    failures += [f"'{text}' is not on the page" for text in texts if text not in html]
    if "<title>hacked" in html or re.search(r"<img[^>]*onerror", html.split('id="data"')[0]):
        failures.append("a name was taken for markup")
    for failure in failures:
        print(f"{os.path.basename(page)}: {failure}")
    return not failures


def main():
    program = sys.argv[1] + "/bin/flowtrain"
    if not shutil.which("chromium"):
        skip("there is no chromium")
    if not os.path.exists(program):
        skip("flowtrain is not built")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for i, name in enumerate(HOSTILE):
            runs.append(f"{folder}/run{i}")
            write_run(runs[i], 0.1 / (i + 1), name)
            subprocess.run([program, "report", runs[i]], check=True, stdout=subprocess.DEVNULL)
            good &= check(runs[i] + "/report.html", 7, ['<svg class="graph"', 'class="confusion"', "Learning rate"])
        page = folder + "/all.html"
        subprocess.run([program, "report", *runs, "--out", page], check=True, stdout=subprocess.DEVNULL)
        good &= check(page, 5, ["optim.lr", "Comparison of 4 runs", "run3"])
    sys.exit(0 if good else 1)


main()
