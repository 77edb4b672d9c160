"""The command line of export: nets of libraries by name, and packages that are made again."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import warnings
from typing import Any

import torch

from flowtrain._export import export_package
from flowtrain._export._models import LIBRARIES, Model, NetOptions
from flowtrain._export._package import remake_package
from flowtrain.export import ExportError


def main(arguments: list[str]) -> int:
    """Returns the exit code: 0, or 2 with one line on stderr."""
    options = parser().parse_args(arguments)
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    try:
        if options.net.partition(":")[0] in LIBRARIES:
            _export_named(options, arguments)
        elif options.net.endswith(".pt2"):
            remake_package(options.net, options.out)
        else:
            raise ExportError(f"{options.net}: expected timm:NAME, torchvision:NAME, hf:NAME, or a package (.pt2)")
    except (ExportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.out}: written; in a config: [net] package = \"{options.out}\"")
    return 0


def named_model(options: argparse.Namespace) -> Model:
    """Returns the model that the options of parser() name. Raises ExportError if there is none."""
    library, _, name = options.net.partition(":")
    net_options = NetOptions(options.classes, options.size, options.channels, options.length, options.pretrained,
                             options.task, dict(options.set))
    torch.manual_seed(options.seed)
    try:
        return LIBRARIES[library](name, net_options)
    except ModuleNotFoundError as error:
        raise ExportError(f"{options.net} needs the package {error.name}: pip install {error.name}") from None


def _export_named(options: argparse.Namespace, arguments: list[str]) -> None:
    model = named_model(options)
    example = model.example(max(2, options.batch))
    export_package(model.net, options.out, example, model.loss, model.outputs, amp=options.amp, device=options.device,
                   check=options.check, command=shlex.join(["python", "-m", "flowtrain", "export", *arguments]))


def _setting(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r}: expected key=value")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command's options."""
    parser = argparse.ArgumentParser(
        "python -m flowtrain export", description="Compiles a net with its loss and backward pass for flowtrain.")
    parser.add_argument("net", metavar="NET",
                        help="timm:NAME, torchvision:NAME, hf:NAME (a model of transformers: a name on its hub, a "
                        "folder, or a kind, such as gpt2), or a package net.pt2, which is made again")
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="write the package to this file, net.pt2")
    parser.add_argument("--classes", type=int, default=1000, metavar="N", help="set the number of classes (1000)")
    parser.add_argument("--size", type=int, default=224, metavar="N", help="set the height and width of images (224)")
    parser.add_argument("--channels", type=int, default=3, metavar="N", help="set the channels of images (3)")
    parser.add_argument("--length", type=int, default=128, metavar="N", help="set the tokens in a row (128)")
    parser.add_argument("--task", choices=["causal-lm", "masked-lm", "image", "text"],
                        help="choose what an hf model learns; default: the task of its kind")
    parser.add_argument("--pretrained", action="store_true",
                        help="start with the library's weights, which it downloads")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed the weights (0)")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE",
                        help="set an argument of the library's model, or of its configuration: a number, "
                        "true, false, null, a list, or a text")
    parser.add_argument("--amp", choices=["bf16", "fp16"], help="use mixed precision")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="choose the device to train on (cpu)")
    parser.add_argument("--batch", type=int, default=4, metavar="N",
                        help="set the rows of the example; a run may have any number (4)")
    parser.add_argument("--no-check", dest="check", action="store_false",
                        help="skip the comparison of two steps with eager PyTorch")
    return parser
