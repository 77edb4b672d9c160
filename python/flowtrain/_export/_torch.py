"""What export takes from torch beyond its public interface. torch 2.11; another version may have changed any of it."""

from __future__ import annotations

import contextlib
import os
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.exc import UserError
from torch._functorch.compile_utils import fx_graph_cse
from torch._inductor import aot_compile, compile_fx, cpp_builder, cpu_vec_isa, lowering
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
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

#: What tracing raises where Python code asks for the values of a tensor.
READS_VALUES = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
#: What torch.export raises, among others where the graph does not take every number of rows.
EXPORT_ERROR = UserError

#: -march of the compiled code, for each capability of x86 CPUs that torch names.
_MARCH = {"AVX512": "x86-64-v4", "AVX2": "x86-64-v3", "DEFAULT": "x86-64"}


def trace(
    function: Callable[..., Any], state: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], dynamic_batch: bool
) -> tuple[torch.fx.GraphModule, bool]:
    """The operations of function(*state, *inputs), below autograd, so those of torch.autograd.grad() are among them.

    Nothing is computed. Returns the graph, which takes the same arguments, and whether its number of rows (the first
    dimension of the inputs) is free. It is not where dynamic_batch is False, or the function fixes that number.
    """
    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    arguments = [mode.from_tensor(tensor, static_shapes=True) for tensor in state]
    for tensor in inputs:
        sizes = [DimDynamic.STATIC] * tensor.dim()
        if dynamic_batch and sizes:
            sizes[0] = DimDynamic.DUCK  # equal numbers of rows are one symbol
        arguments.append(mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    with mode, torch.enable_grad(), enable_python_dispatcher():  # which tells batch norm's writes from its reads
        graph = make_fx(function)(*arguments)
    rows = arguments[len(state)].shape[0]
    free = isinstance(rows, torch.SymInt) and not shapes.replace(rows.node.expr).is_number
    return graph, free


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
    # What a GPU's kernels are launched by needs nothing of the CPU.
    on_gpu = any(tensor.is_cuda for tensor in program.example_inputs[0])
    with _portable_code("DEFAULT" if on_gpu else torch.backends.cpu.get_cpu_capability()), _repeatable_code():
        return aot_compile(
            program.module(check_guards=False),
            tuple(tensor.contiguous(memory_format=wanted)
                  for tensor, wanted in zip(program.example_inputs[0], layouts, strict=True)),
            options={
                "aot_inductor.package": True,
                "aot_inductor.package_constants_in_so": False,
                "aot_inductor.link_libtorch": False,  # the program has torch's symbols, and may have no libtorch_cuda
                "always_keep_tensor_constants": True,  # else parameters of up to 8 numbers become literals
                "cpp.dynamic_threads": True,  # else as many threads as this process has
            },
        )


def instruction_set(device: torch.device) -> str:
    """What compiled code needs: the capability that torch names, of this CPU, or of the device: sm_90."""
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
        warnings.simplefilter("ignore", UserWarning)  # that programs without weights are not whole
        _package_exported_programs(writer, {name: _without_weights(program) for name, program in programs.items()})
        _package_aoti_files(writer, code)
        _package_extra_files(writer, texts)
        for name, content in records.items():
            writer.write_bytes(name, content)


def read_programs(file: str | os.PathLike[str]) -> dict[str, torch.export.ExportedProgram]:
    """The programs of write_archive(). Their weights are zeros."""
    with warnings.catch_warnings(), PT2ArchiveReader(os.fspath(file)) as reader:
        warnings.simplefilter("ignore", UserWarning)  # that these bytes cannot be written to
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
    def hollow(tensor: torch.Tensor) -> torch.Tensor:  # of the same shape, in the memory of one number
        return torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)

    copy = with_weights(program, {name: hollow(tensor) for name, tensor in program.state_dict.items()})
    inputs, _ = program.example_inputs
    copy.example_inputs = (tuple(map(hollow, inputs)), {})
    return copy


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
