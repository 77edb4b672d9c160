"""The parts of torch beyond its public interface that export uses. They fit torch 2.11; other versions may differ."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest import mock

import sympy
import torch
import torch.utils.checkpoint
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.exc import UserError
from torch._functorch.compile_utils import fx_graph_cse
from torch._inductor import aot_compile, compile_fx, cpp_builder, cpu_vec_isa, lowering
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512
from torch._inductor.fx_passes import misc_patterns
from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder
from torch._inductor.package import load_package
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.export.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter
from torch.export.pt2_archive._package import (
    _load_exported_programs,
    _package_aoti_files,
    _package_exported_programs,
    _package_extra_files,
)
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.nn.utils import stateless
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from flowtrain._export._recurrent import whole_layers
from flowtrain.export import ExportError

# Tracing raises these if Python code asks for the values of a tensor.
#: What tracing raises where Python code asks for the values of a tensor.
READS_VALUES = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
# torch.export raises this, for example if the graph does not take every number of rows.
#: What torch.export raises, among others where the graph does not take every number of rows.
EXPORT_ERROR = UserError

# Tracing raises this if an operator defines no shapes.
#: Where an operator tells no shapes.
UNTRACEABLE = UnsupportedOperatorException

#: -march of the compiled code, for each capability of x86 CPUs that torch names.
_MARCH = {"AVX512": "x86-64-v4", "AVX2": "x86-64-v3", "DEFAULT": "x86-64"}


@dataclass(frozen=True)
class Traced:
    """A graph of trace(), and what it takes for granted."""

    graph: torch.fx.GraphModule
    rows: list[Any]  #: the number of rows of each input: an expression of one symbol, or a number
    extents: dict[tuple[int, int], Any]  #: the extent of each free axis, by input and axis: the same
    conditions: list[Any]  #: conditions on one symbol, which Python code or torch has asked for

    def fails(self, symbol: Any, extent: int) -> str | None:
        """Returns a condition that an extent does not meet."""
        return next((str(condition).replace(str(symbol), "extent") for condition in self.conditions
                     if condition.free_symbols == {symbol} and condition.subs(symbol, extent) == sympy.false), None)


def trace(
    function: Callable[..., Any], state: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], dynamic_batch: bool,
    free: Sequence[Iterable[int]] = (),
) -> Traced:
    """The operations of function(*state, *inputs), below autograd, so those of torch.autograd.grad() are among them.

    Nothing is computed. The graph takes the same arguments. Its number of rows (the first dimension of the inputs) is
    free, unless dynamic_batch is False, or the function fixes that number; and so are the axes `free` of each input.
    """
    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    arguments = [mode.from_tensor(tensor, static_shapes=True) for tensor in state]
    for tensor, axes in zip_longest(inputs, free, fillvalue=()):
        sizes = [DimDynamic.STATIC] * tensor.dim()
        if dynamic_batch and sizes:
            sizes[0] = DimDynamic.DUCK  # equal numbers of rows are one symbol
        for axis in axes:
            sizes[axis] = DimDynamic.DYNAMIC  # each axis has a symbol of its own
        arguments.append(mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    with mode, torch.enable_grad(), enable_python_dispatcher():  # it tells batch norm's writes from its reads
        with traceable():
            graph = make_fx(function)(*arguments)

    def known(size: Any) -> Any:
        return shapes.replace(size.node.expr) if isinstance(size, torch.SymInt) else sympy.Integer(size)

    given = arguments[len(state):]
    return Traced(graph, [known(tensor.shape[0]) for tensor in given if tensor.dim() > 0],
                  {(place, axis): known(given[place].shape[axis]) for place, axes in enumerate(free) for axis in axes},
                  [shapes.replace(guard.expr) for guard in shapes.guards])


def symbol(program: torch.export.ExportedProgram, place: int, axis: int, what: str, most: int) -> str:
    """Returns the symbol that a program has for an axis of input number `place`. Raises ExportError unless that may be
    any number up to `most`."""
    name = program.graph_signature.user_inputs[place]
    size = next(node.meta["val"].shape[axis] for node in program.graph.nodes if node.name == name)
    found = size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
    if not found.is_symbol:
        raise ExportError(f"an operator of torch fixes {what} at {found}: leave the axis out of `free`, where all "
                          "batches have that extent")
    if (largest := program.range_constraints[found].upper) < most:
        raise ExportError(f"the net takes up to {largest} along {what}, and `free` allows {most}")
    return str(found)


def operations(function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> list[str]:
    """Returns the operations of function(*tensors), one text each, with their numbers, without computing them."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    log = _Log(mode)
    with mode, torch.enable_grad(), traceable(), log:
        function(*(mode.from_tensor(tensor, static_shapes=True) for tensor in tensors))
    return log.operations


class CarriedOver(Exception):
    """A call computes with a tensor of the call before."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__()
        self.tensor = tensor


class _Log(TorchDispatchMode):
    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode
        self.operations: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves = torch.utils._pytree.tree_leaves([args, kwargs or {}])
        shown = [self._text(each) for each in leaves if not isinstance(each, FakeTensor) or self._is_foreign(each)]
        self.operations.append(f"{function} {shown}")
        return function(*args, **(kwargs or {}))

    def _is_foreign(self, tensor: FakeTensor) -> bool:
        if tensor.fake_mode is not self.mode:
            raise CarriedOver(tensor)
        return False

    @staticmethod
    def _text(value: Any) -> Any:
        """Numbers as they are, and of a tensor with values a hash."""
        if isinstance(value, torch.Tensor):
            with _disable_current_modes():
                return hash(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return value if isinstance(value, (int, float, bool)) else type(value).__name__


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Runs what torch.compile() has made as Python."""
    with torch.compiler.set_stance("force_eager"):
        yield


@contextlib.contextmanager
def traceable() -> Iterator[None]:
    """Python as a graph needs it: what torch.compile() has made runs as Python, checkpoints keep what they would
    compute again, of which the compiler decides, and what calls backward() is refused."""

    class Keeps:
        @staticmethod
        def apply(function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
            learns = any(isinstance(each, torch.Tensor) and each.requires_grad for each in args)
            with torch.set_grad_enabled(learns and torch.is_grad_enabled()):  # a reentrant checkpoint does so, too
                return function(*args)

    def keeps(*_: Any, **__: Any) -> Iterator[None]:
        yield

    def refuses(*_: Any, **__: Any) -> None:
        raise ExportError("backward() is called while the loss is computed: return the loss; its gradients are taken "
                          "by the export, and the optimizer is the config's")

    with uncompiled(), mock.patch.object(torch._dynamo.config, "error_on_nested_fx_trace", False), \
            mock.patch.object(torch.utils.checkpoint, "CheckpointFunction", Keeps), \
            mock.patch.object(torch.utils.checkpoint, "_checkpoint_without_reentrant_generator", keeps), \
            mock.patch.object(torch.autograd, "backward", refuses), whole_layers():
        yield


def with_tensors(net: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> contextlib.AbstractContextManager[Any]:
    """The net has these parameters and buffers, by name, in place of its own; those that are tied stay so."""
    return stateless._reparametrize_module(net, tensors, tie_weights=True)


def hooks(parameter: torch.Tensor) -> list[Callable[[torch.Tensor], Any]]:
    """Returns the hooks of register_hook()."""
    return list((parameter._backward_hooks or {}).values())


def has_hooks_after_accumulation(parameter: torch.Tensor) -> bool:
    """Whether it has some of register_post_accumulate_grad_hook()."""
    return bool(getattr(parameter, "_post_accumulate_grad_hooks", None))


def calls(program: torch.export.ExportedProgram) -> Iterator[torch.fx.Node]:
    """The nodes that call operators, those of inner graphs, too."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from (node for node in module.graph.nodes if isinstance(node.target, torch._ops.OpOverload))


def foreign_operators(program: torch.export.ExportedProgram) -> list[str]:
    """The operators that a process with LibTorch alone has not: those of other libraries, or of Python."""
    return sorted({str(node.target) for node in calls(program)
                   if node.target.namespace not in ("aten", "prim", "prims", "mkldnn", "quantized", "inductor")})


def draws(program: torch.export.ExportedProgram) -> bool:
    """Whether it draws random numbers, beyond those of a dropout that drops nothing."""
    dropout = torch.ops.aten.native_dropout.default
    return any(torch.Tag.nondeterministic_seeded in node.target.tags
               and not (node.target is dropout and node.args[1] == 0) for node in calls(program))


def run_program(
    program: torch.export.ExportedProgram, tensors: dict[str, torch.Tensor], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """The program by eager operations, with these tensors, which it changes in place."""
    module = program.module(check_guards=False)
    module._forward_pre_hooks.clear()  # they refuse the shortest extents, which torch takes for special cases
    own = {name: tensors[name] for name, _ in [*module.named_parameters(), *module.named_buffers()] if name in tensors}
    return list(torch.func.functional_call(module, own, tuple(inputs)))


def open_compiled(
    file: str | os.PathLike[str], name: str, tensors: dict[str, torch.Tensor]
) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
    """A graph of write_archive(), which reads these tensors where they lie, and writes buffers there, as in the native
    program."""
    # The code leaves torch's symbols, and on a GPU those of its CUDA library, to the program.
    ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch.so"), ctypes.RTLD_GLOBAL)
    graph = load_package(os.fspath(file), name, run_single_threaded=True)
    graph.load_constants({name: tensors[name] for name in graph.get_constant_fqns()}, check_full_update=True,
                         user_managed=True)
    return lambda inputs: list(graph(*inputs))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silences torch's warnings and log lines, which say that an instruction set has other names."""
    log = logging.getLogger("torch.export.pt2_archive._package")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _convolution_double_backward(
    ggI: Any, ggW: Any, ggb: Any, gO: Any, weight: Any, input: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:
    """The derivative of a convolution's derivative, for any number of rows. torch's own takes fixed ones."""
    aten: Any = torch.ops.aten
    how = (stride, padding, dilation, transposed, output_padding, groups)
    parts = [aten.convolution(ggI, weight, None, *how)] if ggI is not None else []
    parts += [aten.convolution(input, ggW, None, *how)] if ggW is not None else []
    parts += [ggb.view(1, -1, *[1] * (gO.dim() - 2)).expand_as(gO)] if ggb is not None else []
    of_weight = None if ggI is None else aten.convolution_backward(gO, ggI, weight, None, *how, [False, True, False])[1]
    of_input = None if ggW is None else aten.convolution_backward(gO, input, ggW, None, *how, [True, False, False])[0]
    return sum(parts[1:], parts[0]) if parts else None, of_input, of_weight


# Operators of torch that tell no shapes: of gamma, beta and Dirichlet distributions.
_SHAPES = torch.library.Library("aten", "IMPL", "Meta")
for _name in ("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad"):
    _SHAPES.impl(_name, lambda first, *_, **__: torch.empty_like(first))

for _key in (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd):
    if _key not in torch.ops.aten._convolution_double_backward.default.py_kernels:
        torch.ops.aten._convolution_double_backward.default.py_impl(_key)(_convolution_double_backward)


def without_repetition(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program, in which what is computed twice is computed once."""
    module = torch.fx.GraphModule(program.graph_module, fx_graph_cse(program.graph))
    return program._update(module, program.graph_signature)


def layout(tensor: torch.Tensor) -> torch.memory_format:
    """channels_last where the tensor lies so, else contiguous_format; its number of rows may be a symbol."""
    is_last = tensor.dim() == 4 and tensor.stride(1) == 1 and tensor.stride(3) == tensor.shape[1] > 1
    return torch.channels_last if is_last else torch.contiguous_format


def compile(program: torch.export.ExportedProgram) -> Any:
    """The files of AOTInductor's code for the program, without its weights."""
    traced = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    layouts = [layout(traced[name]) for name in program.graph_signature.user_inputs]
    # A package for a GPU needs no capability of the CPU.
    on_gpu = any(tensor.is_cuda for tensor in program.example_inputs[0])
    capability = "DEFAULT" if on_gpu else torch.backends.cpu.get_cpu_capability()
    no_patterns = mock.patch.object(misc_patterns, "_misc_patterns_init", lambda *_: None)  # they fail on randperm()
    with no_patterns, _own_numbers(), _portable_code(capability), _repeatable_code():
        return aot_compile(
            program.module(check_guards=False),
            tuple(tensor.contiguous(memory_format=wanted)
                  for tensor, wanted in zip(program.example_inputs[0], layouts, strict=True)),
            options={
                "aot_inductor.package": True,
                "aot_inductor.package_constants_in_so": False,
                "aot_inductor.link_libtorch": False,  # the program has torch's symbols, and may have no libtorch_cuda
                "always_keep_tensor_constants": True,  # by default, parameters of up to 8 numbers become literals
                "cpp.dynamic_threads": True,  # by default, as many threads as this process has
            },
        )


def instruction_set(device: torch.device) -> str:
    """Returns the capability that compiled code needs, as torch names it: of this CPU, or of the device: sm_90."""
    if device.type == "cuda":
        return "sm_%d%d" % torch.cuda.get_device_capability(device)
    return torch.backends.cpu.get_cpu_capability()


def write_archive(
    file: str | os.PathLike[str],
    programs: dict[str, torch.export.ExportedProgram],
    code: dict[str, Any],
    texts: dict[str, str],
    records: dict[str, bytes],
) -> None:
    """torch's own archive, as torch.export.pt2_archive has it: programs without weights, code, texts, and records."""
    with warnings.catch_warnings(), PT2ArchiveWriter(os.fspath(file)) as writer:
        warnings.simplefilter("ignore", UserWarning)  # programs without weights are incomplete
        _package_exported_programs(writer, {name: _without_weights(program) for name, program in programs.items()})
        _package_aoti_files(writer, code)
        _package_extra_files(writer, texts)
        for name, content in records.items():
            writer.write_bytes(name, content)


def read_programs(file: str | os.PathLike[str]) -> dict[str, torch.export.ExportedProgram]:
    """The programs of write_archive(). Their weights are zeros."""
    with warnings.catch_warnings(), PT2ArchiveReader(os.fspath(file)) as reader:
        warnings.simplefilter("ignore", UserWarning)  # the bytes are read-only
        return _load_exported_programs(reader, reader.get_file_names(), None)


def read_record(file: str | os.PathLike[str], name: str) -> bytes:
    """A record of write_archive(); texts are below extra/."""
    with PT2ArchiveReader(os.fspath(file)) as reader:
        return reader.read_bytes(name)


def with_weights(
    program: torch.export.ExportedProgram, weights: dict[str, torch.Tensor]
) -> torch.export.ExportedProgram:
    """The program with these tensors, by name, in place of its own."""
    state = {
        name: torch.nn.Parameter(weights[name], requires_grad=False) if isinstance(tensor, torch.nn.Parameter) else
        weights[name] for name, tensor in program.state_dict.items()
    }
    return program._update(program.graph_module, program.graph_signature, state_dict=state)


def _without_weights(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    def hollow(tensor: torch.Tensor) -> torch.Tensor:  # it has the same shape, in the memory of one number
        return torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)

    copy = with_weights(program, {name: hollow(tensor) for name, tensor in program.state_dict.items()})
    inputs, _ = program.example_inputs
    copy.example_inputs = (tuple(map(hollow, inputs)), {})
    return copy


def _own_numbers() -> contextlib.AbstractContextManager[Any]:
    """Compiles code that reads parameters of one number (of a PReLU, a temperature), which Inductor takes for constants
    where a formula has them alone."""
    deduce = UniformValueConstantFolder._deduce_value

    def unless_read(folder: Any, node: torch.fx.Node) -> Any:
        return folder.unknown_value if node.op == "get_attr" else deduce(folder, node)

    return mock.patch.object(UniformValueConstantFolder, "_deduce_value", unless_read)


@contextlib.contextmanager
def _repeatable_code() -> Iterator[None]:
    """Compiles code whose sums have one order, where Inductor adds up by atomics, in the order in which threads come.

    Then torch's own index_put adds up, which has one order if the process asks for deterministic algorithms, and the
    gradient of an embedding is torch's own, which always has.
    """
    memory: Any = torch.utils.deterministic
    compiler: Any = compile_fx
    lowerings: Any = lowering
    were = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    fills = memory.fill_uninitialized_memory
    embedding = torch.ops.aten.embedding_dense_backward.default
    decompositions = compiler.select_decomp_table

    def without_embeddings() -> dict[Any, Any]:
        return {operator: function for operator, function in decompositions().items() if operator is not embedding}

    if embedding not in lowerings.lowerings:
        lowerings.make_fallback(embedding, warn=False, override_decomp=True)

    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False
    try:
        with mock.patch.object(compile_fx, "select_decomp_table", without_embeddings):
            yield
    finally:
        torch.use_deterministic_algorithms(were[0], warn_only=were[1])
        memory.fill_uninitialized_memory = fills


@contextlib.contextmanager
def _portable_code(capability: str) -> Iterator[None]:
    """Compiles for a capability that torch names, where Inductor takes whatever this CPU can beyond it."""
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    march = _MARCH.get(capability) if is_x86 else None
    flags = cpp_builder._get_optimization_cflags

    def of_the_capability(*arguments: Any, **options: Any) -> tuple[list[str], list[str]]:
        compiler, linker = flags(*arguments, **options)
        return [f"march={march}" if flag == "march=native" else flag for flag in compiler], linker

    plain = [isa for isa in cpu_vec_isa.valid_vec_isa_list() if type(isa) in (VecAVX512, VecAVX2)]
    with contextlib.ExitStack() as patches:
        if march:
            patches.enter_context(mock.patch.object(cpp_builder, "_get_optimization_cflags", of_the_capability))
            patches.enter_context(mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", lambda: plain))
            patches.enter_context(mock.patch.object(VecAVX512, "build_arch_flags", lambda isa: isa._arch_flags))
        yield
