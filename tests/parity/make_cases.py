#!/usr/bin/env python3
"""Writes the small set of parity cases, or checks the oracles that it comes from against another set.

    make_cases.py [FOLDER]           writes the cases (by default into `cases` beside this file)
    make_cases.py --check FOLDER     recomputes the expected values of the cases in FOLDER; one line a file
    make_cases.py --check FOLDER --nets    and those of whole nets: minutes, and 10 GB of memory

Needs numpy and torch. The same versions write the same bytes, on one thread.
"""

import argparse
import json
import math
import pathlib
import sys

import numpy as np
import torch

import small_set
from oracle import blocks, corner_pool, decode, files, forward, gaussian, losses, names, nets, nms, postproc, radii
from oracle import name_numbers, saccade, sampler
from small_set import blocks as small_blocks
from small_set import detection, losses as small_losses, maps, samples

ORACLES = {losses: small_losses.inputs, corner_pool: maps.corner_pool, gaussian: maps.gaussian,
           decode: detection.decode, nms: detection.nms, postproc: detection.postproc, saccade: detection.saccade_test,
           blocks: small_blocks.inputs}
SMALL_PICTURE = "eval127"


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, tensors, metadata):
        tensors = {key: np.asarray(values) for key, values in tensors.items()}
        files.write(folder / f"{name}.safetensors", tensors, {"name_prefix": small_set.PREFIX} | metadata)

    def write_json(name, values):
        (folder / name).write_text(json.dumps(values, separators=(",", ":")) + "\n")

    for oracle, inputs in ORACLES.items():
        tensors, metadata = inputs()
        write(oracle.FILE, tensors | oracle.expected(files.Stored(tensors), metadata), metadata)
    tensors, metadata, draws = samples.inputs()
    write(sampler.FILE, tensors | sampler.expected(files.Stored(tensors), metadata, draws), metadata)
    write_json(sampler.DRAWS, draws)
    radii.write(folder / radii.FILE, maps.RADII)
    write_json("state_dict.json", {family: {"parts": names.parts(names.entries(family))} for family in nets.PLANS})
    for family in nets.PLANS:
        found = forward.evaluate(forward.make(family, small_set.PREFIX), SMALL_PICTURE, small_set.PREFIX)
        write("forward_" + family, forward.summary(found, SMALL_PICTURE), {"net": family})
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {len(list(folder.iterdir()))} files, {size / 1000:.0f} kB")


def share_of_tolerance(oracle, name, got, stored):
    """How much of what is allowed a value is off: above 1 is wrong."""
    wanted = dict.__getitem__(stored, name)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return math.inf
    limits = oracle.tolerance(name, stored)
    if hasattr(oracle, "share"):
        return oracle.share(name, got, wanted, limits)
    if wanted.size == 0:
        return 0
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(b)
    with np.errstate(invalid="ignore"):
        apart = np.where(a == b, 0, abs(a - b)).max()
    bound = limits[0] + limits[1] * max(limits[2], abs(b[finite]).max(initial=0))
    return 0 if apart == 0 else apart / bound if bound > 0 and math.isfinite(apart) else math.inf


def check_file(oracle, folder):
    """Prints whether a file's expected values are what the oracle gives. Returns whether they are."""
    stored, metadata = files.read(folder / f"{oracle.FILE}.safetensors")
    extra = [sampler.read_draws(folder)] if oracle is sampler else []
    got = oracle.expected(stored, metadata, *extra)
    missing = sorted(set(got) - set(stored))
    unread = sorted(set(stored) - stored.used - set(got))
    shares = {name: share_of_tolerance(oracle, name, values, stored) for name, values in got.items() if name in stored}
    return report(oracle.FILE, shares, [f"not in the file: {missing}"] * bool(missing)
                  + [f"not looked at: {unread}"] * bool(unread))


def report(title, shares, complaints=()):
    wrong = [name for name, share in shares.items() if not share <= 1]
    text = f"{len(shares)} values, the worst at {max(shares.values()):.2g} of its tolerance"
    complaints = list(complaints) + [f"wrong: {wrong}"] * bool(wrong)
    print(f"{title}: {'; '.join([text] + complaints)}", flush=True)
    return not complaints


def check_nets(folder, family):
    """Whole nets: every picture in evaluation mode, and the steps of training."""
    stored, metadata = files.read(folder / f"forward_{family}.safetensors")
    prefix = metadata["name_prefix"]
    good = True
    for case in stored.cases():
        net = forward.make(family, prefix)
        if case.startswith("eval"):
            found = forward.differences(forward.evaluate(net, case, prefix), stored, case)
        else:
            given = stored.below("train.")
            found = forward.training(net, given, prefix, len(given["losses"]), 0.00025)
            found = forward.training_differences(found, stored, metadata)
        good &= report(f"forward_{family} {case}", dict(enumerate(found)))
    return good


def check_all(folder, with_nets):
    good = [check_file(oracle, folder) for oracle in (*ORACLES, sampler)]
    rows = radii.read(folder / radii.FILE)
    apart, wrong = radii.worst(rows)
    good.append(report(radii.FILE, {"radius_double": apart / 1e-9, "radius_int": math.inf if wrong else 0}))
    expected = json.loads((folder / "state_dict.json").read_text())
    shares = {}
    for family, stored in expected.items():
        rows = names.entries(family)
        same = rows == stored["state_dict"] if "state_dict" in stored else names.parts(rows) == stored["parts"]
        shares[family] = 0 if same else math.inf
    good.append(report("state_dict.json", shares))
    if with_nets:
        good += [check_nets(folder, family) for family in nets.PLANS]
    else:
        print("forward_*: not looked at (--nets)")
    return all(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "cases")
    parser.add_argument("--check", action="store_true", help="compare the folder's cases with the oracles")
    parser.add_argument("--nets", action="store_true", help="with --check: whole nets too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    name_numbers.self_check()
    if arguments.check:
        sys.exit(0 if check_all(arguments.folder, arguments.nets) else 1)
    write_all(arguments.folder)


if __name__ == "__main__":
    main()
