"""Measures a tree of processes, by /proc: CPU time, memory, processes and threads."""

import os

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """The fields of /proc/PID/stat from the third on: [0] state, [1] parent, … (man proc_pid_stat)."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def tree(root):
    """{pid: fields of its stat} of `root` and all processes below it that are still there."""
    stats = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stats[int(name)] = _stat(name)
        except OSError:
            pass
    found = [root] if root in stats else []
    for pid in found:
        found.extend(other for other, fields in stats.items() if int(fields[1]) == pid)
    return {pid: stats[pid] for pid in found}


def cpu_s(root):
    """User and system time, with that of children which have ended and were waited for."""
    return sum(sum(map(int, fields[11:15])) for fields in tree(root).values()) / TICKS_PER_S


def counts(root):
    """(processes, threads)"""
    found = tree(root).values()
    return len(found), sum(int(fields[17]) for fields in found)


def pss_bytes(root):
    """Proportional set size: a page that k processes share counts 1/k in each, so that the sum counts it once."""
    total = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
        except (OSError, StopIteration):
            pass
    return total


def age_s(pid):
    """Returns the seconds since the process started; within 10 ms."""
    with open("/proc/uptime") as file:
        return float(file.read().split()[0]) - int(_stat(pid)[19]) / TICKS_PER_S
