"""The end of an export: some steps of the compiled package beside eager PyTorch, on the example batch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export import _torch
from flowtrain._export._free import Shapes, merged, numbered, variants
from flowtrain._export._graphs import Batch, Function, Graph, evaluated, losses_of
from flowtrain._export._python_state import PythonState
from flowtrain._export._tracing import State
from flowtrain._safetensors import tensors_from
from flowtrain.export import ExportError

STEPS = 2
_DRAWS = 6  #: runs of a graph that draws random numbers, of which only means can be compared
_NOT_BY_CHANCE = 10  #: standard errors
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Eager:
    """The parts that the package was made of."""

    net: nn.Module
    losses: Mapping[str, Function]
    outputs: Function | None
    amp: str | None
    python: PythonState  #: when the net was traced

    def train(self, loss: str, batch: Batch) -> Tensors:
        """Returns the loss, its metrics, and gradients, by their names in a Graph."""
        for parameter in self.net.parameters():
            parameter.grad = None
        self._restore()
        wanted = {name: parameter.requires_grad for name, parameter in self.net.named_parameters()}
        try:
            with _torch.uncompiled(), torch.enable_grad():
                named = losses_of(self.net, loss, self.losses[loss], batch, self.amp)
                named[loss].backward()
            return {f"metric {name}": value.detach() for name, value in named.items()} | {
                f"gradient {name}": parameter.grad.detach() for name, parameter in self.net.named_parameters()
                if parameter.grad is not None}
        finally:
            for name, parameter in self.net.named_parameters():
                parameter.requires_grad_(wanted[name])

    def evaluate(self, batch: Batch) -> Tensors:
        """Returns losses, their metrics, and outputs."""
        self._restore()
        with _torch.uncompiled():
            losses, shown = evaluated(self.net, self.losses, self.outputs, batch, self.amp)
        return {f"metric {name}": value.detach() for name, value in losses.items()} | {
            f"output {name}": value for name, value in shown.items()}

    def _restore(self) -> None:
        """Restores Python's state; buffers that were assigned keep their values."""
        values = dict(self.net.named_buffers())
        self.python.restore()
        for name, buffer in self.net.named_buffers():
            if buffer is not values[name]:
                buffer.data.copy_(values[name])


def update(parameters: Tensors, gradients: Tensors, rate: float) -> None:
    """A step of gradient descent, as the program makes it: by the same kernel, and in f32 where parameters are half
    precision."""
    for name, gradient in gradients.items():
        parameter = parameters[name]
        master = parameter.float() if parameter.dtype in _HALF else parameter
        torch._fused_sgd_([master], [gradient.to(master.dtype)], [], weight_decay=0.0, momentum=0.0, lr=rate,
                          dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
        parameter.copy_(master)


def check_package(file: str | os.PathLike[str], eager: Eager, graphs: Sequence[Graph], state: State, batch: Batch,
                  shapes: Shapes) -> None:
    """Raises ExportError where the compiled graphs in the file do not compute what the net does in eager PyTorch: its
    losses, gradients, weights after an update, buffers and outputs; of the batch, and of two of its rows with other
    extents of free axes. `graphs` are those of the losses, then the evaluation. The net is as before, afterwards."""
    with _left_as_it_is(eager.net), _torch.quiet():
        device = next(iter(batch.values())).device
        tensors = {name: tensor.to(device) for name, tensor in
                   tensors_from(_torch.read_record(file, "weights.safetensors"), os.fspath(file), "torch").items()}
        *compiled, evaluating = (_Compiled(file, graph, tensors) for graph in graphs)
        for what, own in [("", batch), *_others(batch, graphs, shapes)]:
            check = _Check(eager, state, own, tensors, what)
            for graph in compiled:
                check.train(graph)
            check.evaluate(evaluating)


def check_extents(eager: Eager, graphs: Sequence[Graph], batch: Batch, shapes: Shapes) -> None:
    """Raises ExportError where eager PyTorch does not take a batch of some extents of free axes."""
    with _left_as_it_is(eager.net), _torch.quiet():
        for what, own in _others(batch, graphs, shapes):
            try:
                for loss in eager.losses:
                    eager.train(loss, own)
                eager.evaluate(own)
            except Exception as error:
                reason = str(error).strip().split("\n")[0]
                raise ExportError(f"the net does not take {what}: {reason}; let the loss pad what it gets, or give "
                                  "`free` other bounds, {axis: (least, largest)}") from error


def _others(batch: Batch, graphs: Sequence[Graph], shapes: Shapes) -> Iterator[tuple[str, Batch]]:
    """Batches with other extents of free axes, which the graphs might treat unlike those of `batch`, with names."""
    return variants(batch, numbered(graph.extents for graph in graphs), merged(graph.edges for graph in graphs),
                    2 if shapes.rows else None)


_HALF = (torch.bfloat16, torch.float16)


class _Compiled:
    """A graph of the package, with the tensors that it reads and writes."""

    def __init__(self, file: str | os.PathLike[str], graph: Graph, tensors: Tensors) -> None:
        self.graph = graph
        self.tensors = tensors
        self._run = _torch.open_compiled(file, graph.metadata["name"], tensors)

    @property
    def draws(self) -> bool:
        return _torch.draws(self.graph.program)

    @property
    def changed(self) -> list[str]:
        """Returns the buffers that the graph changes in place."""
        return list(self.graph.program.graph_signature.buffers_to_mutate.values())

    def compiled(self, batch: Batch) -> Tensors:
        return self._named(self._run(self._inputs(batch)))

    def traced(self, batch: Batch) -> Tensors:
        """Returns the outputs of the graph before compilation, by eager operations."""
        return self._named(_torch.run_program(self.graph.program, self.tensors, self._inputs(batch)))

    def count(self) -> None:
        """Counts a step, as the program does."""
        for counter in self.graph.metadata["counters"]:
            self.tensors[counter] += 1

    def _inputs(self, batch: Batch) -> list[Tensor]:
        inputs = [tensor.clone() for tensor in batch.values()]
        scaled = len(self.graph.program.graph_signature.user_inputs) > len(inputs)
        return [*inputs, torch.ones((), device=inputs[0].device)] if scaled else inputs

    def _named(self, values: Sequence[Tensor]) -> Tensors:
        kinds = {"loss": "metric", "count": "metric"}
        return {f"{kinds.get(output['kind'], output['kind'])} {output['name']}": value
                for output, value in zip(self.graph.metadata["outputs"], values)}


class _Check:
    extents = ""  #: extents of free axes, where they are not the example's

    def __init__(self, eager: Eager, state: State, batch: Batch, tensors: Tensors, extents: str = "") -> None:
        self.eager = eager
        if extents:
            self.extents = f", with {extents}"
        self.batch = {name: tensor.clone() for name, tensor in batch.items()}
        self.parameters = dict(eager.net.named_parameters())
        self.tensors = tensors
        self.largest: dict[str, float] = {}  # the largest value of each loss and metric
        half = eager.amp is not None or any(
            tensor.dtype in _HALF for tensor in [*state.parameters.values(), *state.buffers.values(), *batch.values()])
        on_gpu = next(iter(batch.values())).is_cuda  # f32 operations of a GPU may use TF32
        self.rounding, self.allowed = (2.0**-8, 2e-2) if half else (2.0**-11, 2e-3) if on_gpu else (2.0**-23, 1e-5)

    @property
    def buffers(self) -> Tensors:
        return {name: tensor for name, tensor in self.eager.net.named_buffers() if name in self.tensors}

    def train(self, graph: _Compiled) -> None:
        loss = graph.graph.metadata["outputs"][0]["name"]
        for step in range(1, (1 if self.extents else STEPS) + 1):  # few terms soon have no gradient but rounding
            before = self._state()
            expected = self._eager(lambda: self.eager.train(loss, self.batch), step)
            after = self._state()
            spread = self._spread(lambda batch: self.eager.train(loss, batch), expected, after, step, before)
            where = f"in step {step} of the loss {loss!r}"
            try:
                self._results(graph, expected, spread, where, lambda: self.eager.train(loss, self.batch), step, before)
            except ExportError:  # few draws do not show how far a kink, or statistics of few values, can move results
                spread = self._spread(lambda batch: self.eager.train(loss, batch), expected, after, step, before, 32)
                self._results(graph, expected, spread, where, lambda: self.eager.train(loss, self.batch), step, before)
            self._put(before, self.tensors)
            self._run(lambda: graph.compiled(self.batch), step)
            graph.count()
            counters = graph.graph.metadata["counters"]
            changed = {*graph.changed, *counters}
            for name in changed if not graph.draws else counters:
                self._compare(self._called(name), self.tensors[name], after[name], spread[f"state {name}"], where)
            for name in after.keys() - changed:
                if not torch.equal(after[name], before[name]):
                    raise self._refusal(self._called(name), "changes in eager PyTorch and not in the package", where)
            for tensors in (self.tensors, self._net_tensors()):
                self._put(after, tensors)
            self._step(expected, before, where)

    def evaluate(self, graph: _Compiled) -> None:
        before = self._state()
        self._put(before, self.tensors)
        expected = self._eager(lambda: self.eager.evaluate(self.batch), 0)
        spread = self._spread(self.eager.evaluate, expected, {}, 0, before)
        if not graph.draws:
            self._compare_all(graph.compiled(self.batch), expected, spread, "in evaluation")

    def _called(self, name: str) -> str:
        return f"the {'parameter' if name in self.parameters else 'buffer'} {name}"

    def _results(self, graph: _Compiled, expected: Tensors, spread: dict[str, float], where: str,
                 again: Callable[[], Tensors], step: int, before: Tensors) -> None:
        """Compares losses and gradients. A compiled graph draws other random numbers than eager PyTorch: there the
        graph is compared before it is compiled, and the compiled one by means."""
        self._put(before, self.tensors)
        if not graph.draws:
            return self._compare_all(self._run(lambda: graph.compiled(self.batch), step), expected, spread, where)
        traced = self._run(lambda: graph.traced(self.batch), step)
        self._compare_all(traced, expected, spread, where)
        eager, compiled = [], []
        for draw in range(_DRAWS):
            self._put(before, self._net_tensors())
            eager.append(self._run(again, 100 + draw))
            self._put(before, self.tensors)
            compiled.append(self._run(lambda: graph.compiled(self.batch), 100 + draw))
        floor = _floor(expected)
        for name in expected:
            self._compare_means(name, [each[name] for each in compiled], [each[name] for each in eager],
                                spread[name] + floor, where)

    def _step(self, expected: Tensors, before: Tensors, where: str) -> None:
        """Updates the net by its gradients, and the package's tensors as the program does, and compares them."""
        gradients = {name: expected[f"gradient {name}"] for name in self.parameters if f"gradient {name}" in expected}
        sizes = sum(float(self.parameters[name].detach().double().square().sum()) for name in gradients)
        slope = sum(float(gradient.double().square().sum()) for gradient in gradients.values())
        rate = 0.1 * (sizes / slope) ** 0.5 if 0 < slope < float("inf") and sizes > 0 else 0.1
        update({name: self.tensors[name] for name in gradients}, gradients, rate)
        for name, gradient in gradients.items():
            parameter = self.parameters[name].data
            parameter.copy_(parameter.float() - rate * gradient.float() if parameter.dtype in _HALF else
                            parameter - rate * gradient)
            moved = rate * float(gradient.double().norm())
            rounding = (2.0**-7 if parameter.dtype in _HALF else 2.0**-22) * float(parameter.double().norm())
            self._compare(f"the parameter {name} after the update", self.tensors[name], parameter,
                          rounding + self.allowed * moved, where, of=moved)
        self._put(self._state(), self.tensors)

    def _spread(self, run: Callable[[Batch], Tensors], expected: Tensors, after: Tensors, seed: int,
                before: Tensors, draws: int = 2) -> dict[str, float]:
        """Returns how far results move if weights and inputs move by their rounding, the limit of a comparison. The net
        is as `before`, afterwards."""
        whole = {**expected, **{f"state {name}": tensor for name, tensor in after.items()}}
        spread = dict.fromkeys(whole, 0.0)
        for number in range(draws):
            random = torch.Generator().manual_seed(number)
            for name, tensor in self._net_tensors().items():
                tensor.copy_(self._moved(before[name], random) if name in self.parameters else before[name])
            batch = {name: self._moved(tensor, random) for name, tensor in self.batch.items()}
            results = self._run(lambda: run(batch), seed)
            results |= {f"state {name}": tensor for name, tensor in self._net_tensors().items()}
            for name in whole:
                if name in results:
                    spread[name] = max(spread[name], _distance(results[name], whole[name]))
        self._put(before, self._net_tensors())
        for name, value in expected.items():  # one that becomes small is as exact as what it is the difference of
            if name.startswith("metric "):
                self.largest[name] = max(self.largest.get(name, 0.0), float(value.abs()))
                spread[name] = max(spread[name], self.rounding * self.largest[name])
        return spread

    def _moved(self, tensor: Tensor, random: torch.Generator) -> Tensor:
        if not tensor.is_floating_point():
            return tensor.clone()
        noise = torch.randn(tensor.shape, generator=random).to(tensor.device)
        return (tensor.float() * (1 + self.rounding * noise)).to(tensor.dtype)

    def _compare_all(self, values: Tensors, expected: Tensors, spread: dict[str, float], where: str) -> None:
        floor = _floor(expected)
        for name in expected.keys() - values.keys():
            if float(expected[name].abs().max()) > 0:
                raise self._refusal(_shown(name), "is there in eager PyTorch and not in the package", where)
        for name in expected.keys() & values.keys():
            self._compare(_shown(name), values[name], expected[name], spread[name] + floor, where)

    def _compare(self, what: str, value: Tensor, expected: Tensor, spread: float, where: str,
                 of: float | None = None) -> None:
        if value.shape != expected.shape:
            raise self._refusal(what, f"has the shape {tuple(value.shape)}, and {tuple(expected.shape)} in eager "
                                "PyTorch", where)
        if not bool(torch.isfinite(expected).all()):
            return  # the example is to blame, so this shows no fault
        size = float(expected.double().norm())
        apart = _distance(value, expected)
        if not apart <= self.allowed * size * (of is None) + 10 * spread + 1e-30:
            share = apart / (size if of is None else of) if (size if of is None else of) > 0 else float("inf")
            raise self._refusal(what, f"is {share:.1e} of its size from eager PyTorch's", where)

    def _compare_means(
        self, name: str, values: list[Tensor], expected: list[Tensor], spread: float, where: str
    ) -> None:
        ours, theirs = (torch.tensor([float(each.double().norm()) for each in those]) for those in (values, expected))
        error = float(((ours.var() + theirs.var()) / _DRAWS).sqrt())
        mean = float(theirs.mean())
        likely = abs(float(ours.mean()) - mean) <= _NOT_BY_CHANCE * error + 0.05 * mean + 10 * spread + 1e-30
        left_out = mean > 10 * spread and bool(theirs.all()) and not bool(ours.any())
        if bool(torch.isfinite(theirs).all()) and (left_out or not likely):
            raise self._refusal(_shown(name), f"has the size {float(ours.mean()):.3e} in the mean, and "
                                f"{mean:.3e} in eager PyTorch", where)

    def _refusal(self, what: str, is_wrong: str, where: str) -> ExportError:
        return ExportError(f"the compiled package does not compute what the net does {where}{self.extents}: "
                           f"{what} {is_wrong}; "
                           "check=False writes the file nevertheless")

    def _eager(self, run: Callable[[], Tensors], seed: int) -> Tensors:
        return {name: tensor.detach().clone() for name, tensor in self._run(run, seed).items()}

    def _run(self, run: Callable[[], Tensors], seed: int) -> Tensors:
        torch.manual_seed(seed)
        return run()

    def _net_tensors(self) -> Tensors:
        return {**{name: tensor.data for name, tensor in self.parameters.items()}, **self.buffers}

    def _state(self) -> Tensors:
        return {name: tensor.detach().clone() for name, tensor in self._net_tensors().items()}

    def _put(self, values: Tensors, to: Tensors) -> None:
        for name, value in values.items():
            if name in to:
                to[name].copy_(value)


def _shown(name: str) -> str:
    kind, _, own = name.partition(" ")
    return {"metric": f"the loss or metric {own!r}", "gradient": f"the gradient of {own}",
            "output": f"the output {own!r}"}[kind]


def _floor(values: Tensors) -> float:
    """Returns a distance that is negligible beside all gradients."""
    gradients = [value for name, value in values.items() if name.startswith("gradient ")]
    return 1e-8 * sum(float(value.double().square().sum()) for value in gradients) ** 0.5


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one.detach().double() - other.detach().double()).norm())


@contextlib.contextmanager
def _left_as_it_is(net: nn.Module) -> Iterator[None]:
    """Restores parameters, gradients, buffers, random numbers and Python's values in modules at the end."""
    tensors = [*net.parameters(), *net.buffers()]
    values: list[Any] = [(tensor, tensor.detach().clone(), tensor.grad) for tensor in tensors]
    python = PythonState.of(net)
    with torch.no_grad(), torch.random.fork_rng(devices=sorted({tensor.device.index for tensor in tensors
                                                                if tensor.is_cuda})):
        try:
            yield
        finally:
            python.restore()
            for tensor, value, gradient in values:
                tensor.data.copy_(value)
                tensor.grad = gradient
