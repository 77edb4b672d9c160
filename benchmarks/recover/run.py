#!/usr/bin/env python3
"""Measures how long a job takes to train again after `kill -9` of one or all of its ranks, by phase.

    benchmarks/recover/run.py build/release/bin/flowtrain --worlds 1 2 4 --rounds 5

Each round starts `flowtrain recover.toml --distributed --world-size N --max-restarts 1`, waits until it has trained
some iterations beyond a snapshot, kills, and waits until the first iteration after the restart is in metrics.jsonl.
Prints a table of medians, in seconds; --json FILE also keeps every round. Linux only (/proc)."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LOOK_EVERY_S = 0.005
LIMIT_S = 600

# Each part ends with the mark of its name.
PARTS = [
    ("new_process", "the ranks' end is noticed, all end, new processes start"),
    ("torch_mapped", "the program starts, reads its command line"),
    ("joined_store", "LibTorch is loaded, the store is joined"),
    ("met", "the ranks meet"),
    ("chosen", "the newest snapshot is found and verified"),
    ("data_open", "the data set is opened"),
    ("net_made", "the net is made, and compared between ranks"),
    ("loaded", "the snapshot's tensors are loaded and shared"),
    ("first_step", "the first iteration: data, forward, backward, update"),
]
LOG_MARKS = {
    "met": "rank 0 of ",
    "chosen": "run folder ",
    "data_open": "the data is open",
    "net_made": "the net is made",
    "loaded": "device: ",
}


def wait_for(condition, what):
    until = time.time() + LIMIT_S
    while time.time() < until:
        found = condition()
        if found:
            return found
        time.sleep(LOOK_EVERY_S)
    sys.exit(f"waited {LIMIT_S} s in vain: {what}")


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def stat_of(pid):
    """The fields of /proc/PID/stat after the name, which may hold anything."""
    text = read(f"/proc/{pid}/stat").decode(errors="replace")
    return text[text.rfind(")") + 2 :].split() if ")" in text else []


def ranks_of(launcher):
    """The processes of the ranks that `launcher` has started, by rank."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        stat = stat_of(entry)
        if len(stat) < 2 or stat[0] == "Z" or stat[1] != str(launcher):
            continue
        for variable in read(f"/proc/{entry}/environ").split(b"\0"):
            if variable.startswith(b"RANK="):
                found[int(variable[5:])] = int(entry)
    return found


def started_at(pid):
    ticks = int(stat_of(pid)[19]) / os.sysconf("SC_CLK_TCK")
    uptime = float(read("/proc/uptime").split()[0])
    return time.time() - uptime + ticks


def has_thread(pid, name):
    try:
        return any(read(f"/proc/{pid}/task/{task}/comm").strip() == name for task in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False


def lines_of(run):
    lines = []
    for line in read(run / "metrics.jsonl").split(b"\n"):
        if line:
            lines.append(json.loads(line))
    return lines


def iterations_after(run, kind):
    """Returns the iterations of the train lines after the last line of that kind."""
    iterations = None
    for line in lines_of(run):
        if line["kind"] == kind:
            iterations = []
        elif line["kind"] == "train" and iterations is not None:
            iterations.append(line["iter"])
    return iterations or []


def log_times(run, skipped):
    times = {}
    for line in read(run / "train.log")[skipped:].decode(errors="replace").split("\n"):
        words = line.split(maxsplit=3)
        if len(words) < 4:
            continue
        for mark, text in LOG_MARKS.items():
            if mark not in times and words[3].startswith(text):
                times[mark] = datetime.datetime.fromisoformat(f"{words[0]} {words[1]}").timestamp()
    return times


def one_round(program, world, kills, folder):
    run = folder / "run"
    words = [program, str(HERE / "recover.toml"), "--distributed", "--world-size", str(world), "--max-restarts", "1"]
    with open(folder / "output.txt", "wb") as output:
        job = subprocess.Popen(words + ["--run-dir", str(run)], stdout=output, stderr=output)
    try:
        wait_for(lambda: len(iterations_after(run, "snapshot")) >= 2, "a snapshot, and two iterations after it")
        old = ranks_of(job.pid)
        if sorted(old) != list(range(world)):
            sys.exit(f"of {world} ranks these were found: {sorted(old)}")
        skipped, done = len(read(run / "train.log")), iterations_after(run, "snapshot")[-1]
        marks, begin = {}, time.time()
        for pid in old.values() if kills == "all" else [old[world - 1]]:
            os.kill(pid, signal.SIGKILL)

        fresh = wait_for(lambda: ({ranks_of(job.pid).get(0)} - {old[0], None} or {None}).pop(), "rank 0")
        marks["new_process"] = started_at(fresh)
        wait_for(lambda: b"libtorch_cpu" in read(f"/proc/{fresh}/maps"), "LibTorch")
        marks["torch_mapped"] = time.time()
        if world > 1:  # one rank alone has no heart
            wait_for(lambda: has_thread(fresh, b"ft-heart"), "the heart")
            marks["joined_store"] = time.time()
        first = wait_for(lambda: iterations_after(run, "resume"), "the first iteration after the restart")[0]
        marks["first_step"] = time.time()
        marks.update(log_times(run, skipped))
    finally:
        job.send_signal(signal.SIGTERM)
        try:
            job.wait(60)
        except subprocess.TimeoutExpired:
            job.kill()
    parts, before = {}, begin
    for name, _ in PARTS:
        if name in marks:
            parts[name] = max(marks[name] - before, 0)
            before = max(marks[name], before)
    return {"world": world, "kills": kills, "total_s": marks["first_step"] - begin, "parts_s": parts,
            "repeated": done - first + 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="build/release/bin/flowtrain")
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", nargs="+", choices=["one", "all"], default=["one", "all"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write each round's measurements to this file")
    options = parser.parse_args()

    rounds = []
    for world in options.worlds:
        for kills in options.kills:
            if world == 1 and kills == "all" and "one" in options.kills:
                continue  # this is the same case
            for _ in range(options.rounds):
                folder = pathlib.Path(tempfile.mkdtemp(prefix="flowtrain-recover-"))
                try:
                    rounds.append(one_round(os.path.abspath(options.program), world, kills, folder))
                finally:
                    shutil.rmtree(folder)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rounds, indent=1) + "\n")

    cases = list(dict.fromkeys((each["world"], each["kills"]) for each in rounds))
    print("| | " + " | ".join(f"world {world}, {kills}" for world, kills in cases) + " |")
    print("|---" * (len(cases) + 1) + "|")

    def row(title, value_of):
        cells = []
        for case in cases:
            values = [value_of(each) for each in rounds if (each["world"], each["kills"]) == case]
            values = [value for value in values if value is not None]
            cells.append(f"{statistics.median(values):.2f}" if values else "")
        print(f"| {title} | " + " | ".join(cells) + " |")

    row("**from the kill to the first iteration**", lambda each: each["total_s"])
    for name, title in PARTS:
        row(title, lambda each, name=name: each["parts_s"].get(name))
    row("iterations done again", lambda each: each["repeated"])


main()
