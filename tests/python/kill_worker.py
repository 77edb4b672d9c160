"""A training script in small, one rank of it, which test_kill.py ends by SIGKILL: python kill_worker.py JSON

After each batch it writes its checkpoint: the loader's state, and all batches that this process was given. The JSON:
    file, overrides, arguments  of the loader
    load                        a checkpoint to go on from, or null
    folder                      for the checkpoints, rank<n>.json
    epochs                      after which it ends; null: it goes on until it is killed
    kill                        [moment, n]: at the n-th such moment SIGKILL ends it, or null
"""

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

from stream import hashes

import flowtrain as ft


def main():
    task = json.loads(sys.argv[1])
    folder, rank, world = Path(task["folder"]), os.environ.get("RANK", "0"), int(os.environ.get("WORLD_SIZE", "1"))
    counts = {}

    def moment(name):
        counts[name] = counts.get(name, 0) + 1
        if task["kill"] == [name, counts[name]]:
            (folder / f"rank{rank}.there").touch()
            while len(list(folder.glob("*.there"))) < world:  # ranks that exchange gradients are as far as each other
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)

    loader = ft.Loader(task["file"], task["overrides"], ids=True, output="numpy", **task["arguments"])
    if task["load"]:
        loader.load_state_dict(json.loads(Path(task["load"]).read_text())["loader"])
    new, seen = folder / f"rank{rank}.new", []
    for _ in range(task["epochs"]) if task["epochs"] else itertools.count():
        batches = iter(loader)
        moment("begun")
        for batch in batches:
            moment("taken")
            seen.append(hashes(batch))
            new.write_text(json.dumps({"loader": loader.state_dict(), "seen": seen}))
            moment("written")
            new.replace(folder / f"rank{rank}.json")
            moment("saved")
        moment("ended")


main()
