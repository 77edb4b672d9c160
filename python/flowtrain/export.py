"""Nets of PyTorch for the native program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowtrain._checks import import_torch

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from flowtrain.loader import Loader

    Function = Callable[[nn.Module, dict[str, Tensor]], Any]

TORCH = "2.11"  #: the version that the native program was built with


class ExportError(ValueError):
    """A net that cannot be exported: the reason, and the way out where one is known."""


def check_torch() -> None:
    """Raises ExportError where there is no torch that can be imported, or one that is not the native program's: what
    export takes from it is not in every version."""
    try:
        torch = import_torch()
    except ImportError as error:
        raise ExportError(f"export needs PyTorch: {error}") from error
    if torch is None:
        raise ExportError(f"export needs PyTorch: pip install torch=={TORCH}.0")
    if not torch.__version__.startswith(f"{TORCH}."):
        raise ExportError(f"this is torch {torch.__version__}, and export needs the native program's: "
                          f"pip install torch=={TORCH}.0")


def export(
    net: nn.Module,
    path: str | os.PathLike[str],
    example: Mapping[str, Any] | Sequence[Any] | Loader[Any],
    loss: Function | Mapping[str, Function] | None = None,
    outputs: Function | None = None,
    *,
    amp: str | None = None,
    device: str | torch.device | None = None,
    dynamic_batch: bool = True,
    free: Mapping[str, Mapping[int, int | tuple[int, int]]] | None = None,
    check: bool = True,
) -> None:
    """Compiles a net with its loss and its backward pass into one file, which `flowtrain` trains without Python.

        net = torchvision.models.resnet18(num_classes=10)
        ft.export(net, "net.pt2", example=next(iter(loader)))      # then, in a config: [net] package = "net.pt2"

        def loss(net, batch):
            prediction = net(batch["image"])
            return {"loss": mse_loss(prediction, batch["target"]), "l1": l1_loss(prediction, batch["target"]).detach()}

        ft.export(net, "net.pt2", example=batch, loss=loss, outputs=lambda net, batch: net(batch["image"]))

    The file holds a training graph for each loss (forward, loss, backward), the evaluation graph, the weights and
    buffers as they are now, by the net's names, and all graphs uncompiled, so that `python -m flowtrain export net.pt2
    -o net.pt2` makes it anew for another machine. The net is not changed.

    net: parameters with requires_grad=False, and those that the loss does not reach, are not trained. It trains in
        training mode; modules of a net in training mode that are themselves in evaluation mode stay so.
    path: net.pt2.
    example: a batch as the program's loader makes it: {field: tensor}, with rows in the first dimension; or a pair,
        (image, label). Shapes and dtypes matter, the values do not. A Loader gives a batch, and stays where it is.
        Fields of groups, {"labelled.image": tensor}, may differ in their rows; those that have equal numbers always
        must.
    loss: a function of the net and the batch: a tensor without dimensions, or several by name. `loss` is optimized, or
        the sum of all where none has that name; the others are shown beside the training loss. None: cross-entropy of
        net(batch["image"]) and batch["label"]. Several such functions by name, {"critic": …, "generator": …}: each is
        lowered by the optimizers whose `losses` in the config name it. What a loss switches off in the net by
        requires_grad_(False) gets no gradient of it. A pair, (sum, count), of tensors without dimensions in place of a
        tensor is the mean over all that counts in an iteration, in its micro-batches and processes: tokens that are not
        ignored, say.
    outputs: a function of the net and the batch, for validation and prediction: a tensor, which is called `logits`, or
        several by name. A detector gives `boxes` (B, N, 4), x0, y0, x1, y1 in pixels of the image, `scores` (B, N), 0
        for no box, and `labels` (B, N). None: `logits` where loss is None, else losses alone.
    amp: "bf16" or "fp16": torch.autocast around these functions. "fp16" needs a GPU to be of use.
    device: "cpu" or "cuda"; None: where the net is.
    dynamic_batch: False: batches have as many rows as the example, always.
    free: axes whose extent differs between batches, by field, each with the largest extent: {"tokens": {1: 512}}; or
        with the least one, too: (2, 512). None: of a Loader those of its fields, else none but the rows.
    check: at the end, make two steps of the compiled package beside eager PyTorch, on the example, and compare losses,
        gradients, weights after the update, buffers and outputs. An example of real values finds more than zeros do.

    These functions run while the graphs are made, and what torch computes in them is kept: an `if` or a `for` of Python
    goes in every step as it went for the example. Compilation takes about a minute. It needs torch 2.11, whose version
    has to be the program's, and a C++ compiler.
    Warns (UserWarning) of what a net draws or counts in Python, which stays as it was while the graphs were made.
    Raises ExportError, a ValueError, where the net cannot be exported, or where the package does not compute what the
    net does, with the reason and a way out.
    """
    check_torch()
    from flowtrain._export import export_package

    export_package(net, path, example, loss, outputs, amp=amp, device=device, dynamic_batch=dynamic_batch,
                   free=free, check=check)
