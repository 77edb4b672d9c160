#!/usr/bin/env python3
"""Prints a configuration of princeton-vl/CornerNet-Lite (JSON) as one of flowtrain's (TOML).

usage: python3 configs/import_cornernet_lite.py CornerNet_Squeeze.json > CornerNet_Squeeze.toml

The file's name says which net: CornerNet, CornerNet_Squeeze or CornerNet_Saccade, with any -suffix. Keys that have no
meaning here (chunk_sizes, say) are listed in comments at the end."""

import json
import pathlib
import sys

# Theirs → ours.
SYSTEM = {
    "max_iter": ("run", "max_iter"), "data_dir": ("data", "path"), "sampling_function": ("sampler", "name"),
    "batch_size": ("loader", "batch"), "prefetch_size": ("loader", "prefetch"), "pretrain": ("net", "pretrain"),
    "opt_algo": ("optim", "name"), "learning_rate": ("optim", "lr"), "stepsize": ("lr", "stepsize"),
    "decay_rate": ("lr", "decay_rate"), "val_iter": ("val", "every"), "snapshot": ("snapshot", "every"),
    "display": ("display", "every"), "train_split": ("data.train", "split"), "val_split": ("data.val", "split"),
}
DETECT = "top_k num_dets ae_threshold nms_kernel nms_algorithm nms_threshold max_per_image".split()
SCALES = "merge_bbox weight_exp test_scales test_flipped".split()
SACCADE = "init_sizes att_scales att_threshold att_nms_ks att_max_crops ref_dets".split()
SAMPLER = ("input_size output_size rand_scales rand_scale_min rand_scale_max rand_scale_step rand_crop gaussian_iou "
           "gaussian_radius max_objects quirks warnings").split()
# Net, sampler and loss, the sampler's own keys, and those of [detect].
FAMILIES = {
    "CornerNet": ("cornernet", "cornernet", "border rand_color lighting gaussian_bump", SCALES),
    "CornerNet_Squeeze": ("cornernet_squeeze", "cornernet", "border rand_color lighting gaussian_bump", SCALES),
    "CornerNet_Saccade": ("cornernet_saccade", "cornernet_saccade",
                          "rand_center min_scale att_sizes att_ratios att_ranges", SACCADE),
}
SPLITS = {"trainval": "trainval2014", "training": "trainval2014", "minival": "minival2014",
          "validation": "minival2014", "testdev": "testdev2017"}
TABLES = ("run data data.train data.val sampler loader net loss optim lr val snapshot display detect").split()

# What their program takes where a file says nothing, as far as ours takes something else.
DEFAULTS = {
    "system": {"max_iter": 100000, "data_dir": "./data", "batch_size": 1, "prefetch_size": 100,
               "opt_algo": "adam", "learning_rate": 0.001, "stepsize": 5000, "decay_rate": 10,
               "val_iter": 20, "snapshot": 400, "display": 5, "train_split": "training", "val_split": "validation"},
    "db": {"input_size": [383, 383], "output_sizes": [[96, 96]], "rand_scale_min": 0.8, "rand_scale_max": 1.4,
           "rand_scale_step": 0.2, "rand_crop": False, "rand_color": False, "border": 64, "gaussian_bump": False,
           "gaussian_iou": 0.7, "top_k": 20, "ae_threshold": 1, "nms_threshold": 0.7},
}


def flat(value):
    """[[96, 256], [32, 96]] is [96, 256, 32, 96] here."""
    if not isinstance(value, list):
        return value
    return [each for part in value for each in (part if isinstance(part, list) else [part])]


def read(file):
    try:
        content = json.loads(file.read_text())
    except OSError as error:
        sys.exit(f"error: {file}: cannot be read: {error.strerror}")
    except ValueError:
        content = None
    if not isinstance(content, dict) or not all(isinstance(content.get(part), dict) for part in DEFAULTS):
        sys.exit(f'error: {file}: not a configuration of CornerNet-Lite: expected {{"system": {{…}}, "db": {{…}}}}')
    return {part: {**defaults, **content[part]} for part, defaults in DEFAULTS.items()}


def convert(file):
    name = file.stem
    if (family := FAMILIES.get(name.split("-")[0])) is None:
        sys.exit(f"error: {file}: its name is not that of a net; name it one of {', '.join(FAMILIES)}, and .json")
    theirs = read(file)
    net, sampler, own_keys, own_detect = family
    rules = {"system": SYSTEM, "db": {key: ("sampler", key) for key in SAMPLER + own_keys.split()}}
    rules["db"] |= {key: ("detect", key) for key in DETECT + own_detect}
    rules["db"]["output_sizes"] = ("sampler", "output_size")
    if own_detect is SACCADE:
        rules["db"]["att_thresholds"] = ("detect", "att_threshold")
    ours = {table: {} for table in TABLES}
    ours["net"]["name"] = net
    ours["loss"]["name"] = ours["sampler"]["name"] = sampler
    for part, values in theirs.items():
        for key, (table, our_key) in rules[part].items():
            value = values.pop(key, None)
            # Of lists of which theirs uses the first entry alone, that one is taken.
            if key in ("output_sizes", "att_thresholds", "att_scales") and isinstance(value, list) and value:
                value = value[0]
            if our_key == "split":
                value = SPLITS.get(value, value) if isinstance(value, str) else None
            if value is not None:
                ours[table][our_key] = flat(value)
    ours["data"]["dataset"] = "coco"
    ours["val"] |= {"batches": 1, "metrics": []}
    if ours["optim"].get("name") == "sgd":
        ours["optim"] |= {"momentum": 0.9, "weight_decay": 1e-4}

    def as_toml(values, indent=""):
        return "".join(f"{indent}{key} = {json.dumps(value)}\n" for key, value in sorted(values.items()))

    text = as_toml({"name": name}) + "".join(f"\n[{table}]\n{as_toml(ours[table])}" for table in TABLES if ours[table])
    unused = "".join(as_toml(values, "#     ") for values in theirs.values())
    return text + (f"\n# Of {file.name}, not needed here:\n{unused}" if unused else "")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    print(convert(pathlib.Path(sys.argv[1])), end="")
