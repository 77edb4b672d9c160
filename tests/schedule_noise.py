#!/usr/bin/env python3
"""Runs a command while its threads are held up at moments that follow from a seed, for the thread sanitizer to see
orders of things that the scheduler alone seldom makes. Linux.

    tests/schedule_noise.py 1..20 build/tsan/bin/test_stages    # seeds 1 to 20 in turn; the first failure ends it

Every few milliseconds a thread of the command's processes is bound to one of the cores, or put behind all others
(SCHED_IDLE), and others are let go again. A thread that is bound beside a busy one, or idle while all cores are busy,
stands still wherever it is, between any two instructions. One loop per core keeps them busy.
"""
import multiprocessing
import os
import random
import subprocess
import sys
import time


def busy():
    os.nice(10)
    while True:
        pass


def children(process):
    """The process and all that it has started."""
    found = [process]
    for parent in found:
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:  # it has ended
            pass
    return found


def threads(process):
    try:
        return [int(name) for name in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []


def disturb(process, chance, cores):
    """Binds, holds up or lets go one of the threads. Returns 1 where it was there to be disturbed, else 0."""
    every = [thread for each in children(process) for thread in threads(each)]
    if not every:
        return 0
    thread = chance.choice(every)
    try:
        os.sched_setaffinity(thread, chance.choice([cores, {chance.choice(sorted(cores))}]))
        os.sched_setscheduler(thread, chance.choice([os.SCHED_IDLE, os.SCHED_OTHER]), os.sched_param(0))
    except OSError:
        return 0
    return 1


def run(seed, command):
    """The command's exit code, and how often a thread was disturbed."""
    chance = random.Random(seed)
    cores = os.sched_getaffinity(0)
    points = 0
    with subprocess.Popen(command) as started:
        while started.poll() is None:
            points += disturb(started.pid, chance, cores)
            time.sleep(chance.expovariate(1 / 0.002))
        return started.returncode, points


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    first, _, last = sys.argv[1].partition("..")
    loops = [multiprocessing.Process(target=busy, daemon=True) for _ in os.sched_getaffinity(0)]
    for loop in loops:
        loop.start()
    for seed in range(int(first), int(last or first) + 1):
        code, points = run(seed, sys.argv[2:])
        print(f"seed {seed}: {points} times a thread was held up or let go; exit code {code}", flush=True)
        if code != 0:
            sys.exit(code)


if __name__ == "__main__":
    main()
