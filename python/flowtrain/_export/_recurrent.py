"""Recurrent layers in graphs, where torch 2.11 forgets the dropout between them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._decomp import decompositions


@contextlib.contextmanager
def whole_layers() -> Iterator[None]:
    """Layers that learn are unrolled in time: oneDNN's LSTM, which torch takes for inputs without gradients, has no
    backward pass in compiled graphs."""
    select = decompositions.select_one_layer_lstm_function

    def unrolled(input: Tensor, hidden: Any, parameters: Any) -> Any:
        tensors = (each for layer in parameters for each in layer)
        learns = torch.is_grad_enabled() and any(each.requires_grad for each in tensors)
        return decompositions.one_layer_lstm if learns else select(input, hidden, parameters)

    with mock.patch.object(decompositions, "select_one_layer_lstm_function", unrolled), \
            mock.patch.object(decompositions, "_rnn_helper", _layers):
        yield


def _layers(
    input: Tensor, hidden: Any, parameters: Any, has_biases: bool, layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool, layer: Any,
) -> tuple[Tensor, list[Any]]:
    """All layers, with dropout between them: of each the forward direction, then the other one."""
    directions = 2 if bidirectional else 1
    input = input.transpose(0, 1) if batch_first else input
    last = []
    for number in range(layers):
        results = []
        for place in range(directions * number, directions * (number + 1)):
            backwards = place % directions == 1
            result, end = layer(input, hidden[place], parameters[place], has_biases, reverse=backwards)
            results.append(result)
            last.append(end)
        input = torch.cat(results, -1) if bidirectional else results[0]
        if dropout > 0 and train and number < layers - 1:
            input = torch.dropout(input, dropout, train=True)
    return input.transpose(0, 1) if batch_first else input, last
