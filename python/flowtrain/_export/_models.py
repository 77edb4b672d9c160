"""Nets of timm, torchvision and transformers by name, each with its batch, loss and outputs."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from flowtrain._export._graphs import Batch, Function
from flowtrain.export import ExportError


@dataclass(frozen=True)
class NetOptions:
    """The options of the command line for a net."""

    classes: int
    size: int
    channels: int
    length: int
    pretrained: bool
    task: str | None
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """A net, and what it learns."""

    net: nn.Module
    example: Callable[[int], Batch]  #: a batch of so many rows
    loss: Function | None = None  #: default: cross-entropy of image and label
    outputs: Function | None = None


def timm_model(name: str, options: NetOptions) -> Model:
    """Makes a classifier of timm."""
    import timm

    if not timm.is_model(name):
        raise ExportError(f"timm has no model {name}{_nearest(name, timm.list_models())}")
    settings = dict(options.settings)
    defaults = timm.models.get_pretrained_cfg(name)
    if defaults is not None and defaults.fixed_input_size:
        settings.setdefault("img_size", options.size)
    net = _built(timm.create_model, name, pretrained=options.pretrained, num_classes=options.classes,
                 in_chans=options.channels, **settings)
    return Model(net, lambda rows: _labelled(rows, options))


def torchvision_model(name: str, options: NetOptions) -> Model:
    """Makes a classifier of torchvision, or a net that segments."""
    from torchvision import models

    names = models.list_models()
    if name not in names:
        raise ExportError(f"torchvision has no model {name}{_nearest(name, names)}")
    if name in {*models.list_models(models.detection), *models.list_models(models.video),
                *models.list_models(models.optical_flow), *models.list_models(models.quantization)}:
        raise ExportError(f"torchvision's {name} takes or returns more than images and labels: write its loss, a "
                          "function of the net and the batch, and call flowtrain.export (docs/any_model.md)")
    if options.channels != 3:
        raise ExportError(f"channels = {options.channels}: nets of torchvision take 3")
    settings = dict(options.settings)
    if name.startswith("vit_"):
        settings.setdefault("image_size", options.size)
    segments = name in models.list_models(models.segmentation)
    if segments:
        settings.setdefault("weights_backbone", "DEFAULT" if options.pretrained else None)
    weights = "DEFAULT" if options.pretrained and not segments else None
    net = _built(models.get_model, name, weights=weights, num_classes=options.classes, **settings)
    if not segments:
        return Model(net, lambda rows: _labelled(rows, options))

    def example(rows: int) -> Batch:
        return {"image": torch.randn(rows, 3, options.size, options.size),
                "mask": torch.randint(options.classes, (rows, options.size, options.size))}

    # The weights are those of torchvision's references/segmentation/train.py.
    def loss(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        parts = {part: _counted(logits, batch["mask"], 255) for part, logits in net(batch["image"]).items()}
        total, count = parts["out"]
        return total + 0.5 * parts["aux"][0] if "aux" in parts else total, count

    return Model(net, example, loss, lambda net, batch: net(batch["image"])["out"])


def hf_model(name: str, options: NetOptions) -> Model:
    """Makes a model of transformers: of its hub, a folder, or, with drawn weights, a kind: gpt2, bert."""
    import transformers

    if options.pretrained or os.path.isdir(name) or "/" in name:
        config = _built(transformers.AutoConfig.from_pretrained, name)
    elif name in transformers.CONFIG_MAPPING:
        config = transformers.AutoConfig.for_model(name)
    else:
        raise ExportError(f"transformers has no kind of model {name}{_nearest(name, transformers.CONFIG_MAPPING)}; "
                          "models of its hub are owner/name, or want --pretrained")
    task = options.task or _task_of(config)
    labels = {"num_labels": options.classes} if task in ("image", "text") else {}
    images = {"image_size": options.size, "num_channels": options.channels} if task == "image" else {}
    for key, value in {"use_cache": False, **labels, **images, **options.settings}.items():
        if key in options.settings and not hasattr(config, key):
            raise ExportError(f"--set {key}: the configuration of {name} has no such key")
        setattr(config, key, value)
    kind = {"causal-lm": transformers.AutoModelForCausalLM, "masked-lm": transformers.AutoModelForMaskedLM,
            "image": transformers.AutoModelForImageClassification,
            "text": transformers.AutoModelForSequenceClassification}[task]
    if options.pretrained:
        net = _built(kind.from_pretrained, name, config=config, ignore_mismatched_sizes=True)
    else:
        net = _built(kind.from_config, config)
    if net._can_set_experts_implementation():  # torch traces the grouped products of others in bf16 alone
        net.set_experts_implementation("batched_mm")
    return _learning(net, task, options)


# The libraries of models. A model is named LIBRARY:NAME.
#: How models are named: LIBRARY:NAME.
LIBRARIES: dict[str, Callable[[str, NetOptions], Model]] = {
    "timm": timm_model, "torchvision": torchvision_model, "hf": hf_model,
}


def _learning(net: nn.Module, task: str, options: NetOptions) -> Model:
    """Fields: image and label; tokens and label; tokens; or tokens and target (-100: not counted)."""
    if task == "image":
        return Model(net, lambda rows: _labelled(rows, options),
                     lambda net, batch: cross_entropy(net(pixel_values=batch["image"]).logits, batch["label"]),
                     lambda net, batch: net(pixel_values=batch["image"]).logits)

    def tokens(rows: int) -> Tensor:
        return torch.randint(net.config.get_text_config().vocab_size, (rows, options.length))

    def logits(net: nn.Module, batch: Batch) -> Tensor:
        scores: Tensor = net(input_ids=batch["tokens"]).logits
        return scores

    if task == "text":
        return Model(net, lambda rows: {"tokens": tokens(rows), "label": torch.randint(options.classes, (rows,))},
                     lambda net, batch: cross_entropy(logits(net, batch), batch["label"]), logits)
    if task == "masked-lm":
        return Model(net, lambda rows: {"tokens": tokens(rows), "target": tokens(rows)},
                     lambda net, batch: _counted(logits(net, batch).transpose(1, 2), batch["target"], -100), logits)
    return Model(net, lambda rows: {"tokens": tokens(rows)},
                 lambda net, batch: cross_entropy(logits(net, batch)[:, :-1].transpose(1, 2), batch["tokens"][:, 1:]),
                 logits)


def _counted(logits: Tensor, target: Tensor, ignored: int) -> tuple[Tensor, Tensor]:
    """Returns the sum of the cross entropy, and how many targets count."""
    return cross_entropy(logits, target, ignore_index=ignored, reduction="sum"), (target != ignored).sum()


def _task_of(config: Any) -> str:
    import transformers

    for task, kinds in (("image", transformers.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING),
                        ("masked-lm", transformers.MODEL_FOR_MASKED_LM_MAPPING),
                        ("causal-lm", transformers.MODEL_FOR_CAUSAL_LM_MAPPING)):
        if type(config) in kinds:
            return task
    raise ExportError(f"{config.model_type} is neither a language model nor a classifier of images: write its loss, a "
                      "function of the net and the batch, and call flowtrain.export (docs/any_model.md)")


def _labelled(rows: int, options: NetOptions) -> Batch:
    image = torch.randn(rows, options.channels, options.size, options.size)
    return {"image": image, "label": torch.randint(options.classes, (rows,))}


def _built(make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return make(*arguments, **options)
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        what = arguments[0] if isinstance(arguments[0], str) else "the model"
        raise ExportError(f"{what}: {reason}") from error


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), 3)
    return f"; near it: {', '.join(near)}" if near else ""
