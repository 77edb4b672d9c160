"""Times one peer, in its own environment; `run` calls it. Prints one JSON object as the last line of stdout.

A peer is a module of this folder with
    LIBRARY                 the package whose version is told
    RESIZE                  what its resize does to a picture that becomes smaller
    batches(pictures, workers, floats, work)
                            an iterator without end: arrays of at most 64 pictures, (n, 224, 224, 3) or
                            (n, 3, 224, 224), u8 or (`floats`) normalised f32. `pictures` are paths of JPEGs.
    prepare(pictures, work) optional: writes the pictures into the folder `work` in the library's own format
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import time

import processes


def measure(batches, seconds, step_s):
    """Consumes batches for `seconds` after the first, each for `step_s` (as a GPU would: this thread sleeps)."""
    me = os.getpid()
    first = next(batches)
    first_batch_s = processes.age_s(me)
    if step_s:
        time.sleep(step_s)
    images, waited_s, cpu_s, begin = 0, 0.0, processes.cpu_s(me), time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds:
        batch = next(batches)
        waited_s += time.perf_counter() - now
        images += len(batch)
        if step_s:
            time.sleep(step_s)
    wall_s = time.perf_counter() - begin
    used_s = processes.cpu_s(me) - cpu_s
    return {"images_per_s": images / wall_s, "cpu_s_per_1000": used_s / images * 1000, "first_batch_s": first_batch_s,
            "waited": waited_s / wall_s,
            "batch": f"{str(first.dtype).removeprefix('torch.')} {'x'.join(map(str, first.shape))}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("pictures", type=pathlib.Path, help="a folder of JPEGs")
    parser.add_argument("work", type=pathlib.Path, help="a folder for files in the peer's own format")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--step-ms", type=float, default=0)
    parser.add_argument("--float", action="store_true", dest="floats")
    parser.add_argument("--prepare", action="store_true", help="only write the peer's own format")
    options = parser.parse_args()
    peer = importlib.import_module(options.peer)
    pictures = sorted(str(path) for path in options.pictures.glob("**/*.jpg"))
    if options.prepare:
        if hasattr(peer, "prepare"):
            peer.prepare(pictures, options.work)
        return
    measurements = measure(peer.batches(pictures, options.workers, options.floats, options.work), options.seconds,
                      options.step_ms / 1000)
    measurements |= {"version": f"{peer.LIBRARY} {importlib.metadata.version(peer.LIBRARY)}", "resize": peer.RESIZE}
    print(json.dumps(measurements), flush=True)


if __name__ == "__main__":  # worker processes may import this file
    main()
