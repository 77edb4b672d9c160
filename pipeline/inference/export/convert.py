"""Makes an ONNX file or an AOTInductor package of a TorchScript net, and checks it on real samples.

`flowtrain export` runs this with a Python that has torch: FORMAT SCRIPT SAMPLES OUT. SCRIPT is the TorchScript file.
SAMPLES holds pictures as the net gets them, SAMPLES.outputs what it gives for them (f32), SAMPLES.json their shapes.
OUT is the file to write; of the format "torchscript" SCRIPT itself is checked and moved there. The greatest difference
to the net's outputs is printed; above 1e-4, or that share of the greatest output, nothing is written.
"""
import importlib.util
import json
import math
import os
import shutil
import sys
import warnings

TOLERANCE = 1e-4  # relative to the greatest output, if that is above 1
DISAGREES = 9  # the exit code


def as_dict(outputs, names):
    """The outputs of a net by name."""
    return dict(zip(names, outputs if isinstance(outputs, (tuple, list)) else [outputs]))


def to_onnx(torch, module, image, names, out):
    import onnxruntime

    axes = {name: {0: "batch"} for name in ["image", *names]}
    torch.onnx.export(module, (image,), out, input_names=["image"], output_names=names, dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    return lambda rows: dict(zip(names, map(torch.from_numpy, session.run(names, {"image": rows.numpy()}))))


def to_aoti(torch, module, image, names, out):
    from torch._export.converter import TS2EPConverter

    program = TS2EPConverter(module, (image,)).convert()
    torch._inductor.aoti_compile_and_package(program, package_path=out)
    compiled = torch._inductor.aoti_load_package(out)
    return lambda rows: as_dict(compiled(rows), names)


def read(torch, path, shapes):
    """The f32 tensors of these shapes that follow each other in a file."""
    with open(path, "rb") as file:
        values = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    sizes = [math.prod(shape) for shape in shapes]
    return [part.reshape(shape) for part, shape in zip(values.split(sizes), shapes)]


def greatest_difference(outputs, expected):
    """Returns the greatest difference over all outputs; infinite if shapes differ or a value is not finite."""
    greatest = 0.0
    for name in expected:
        if outputs[name].shape != expected[name].shape:
            return math.inf
        difference = (outputs[name] - expected[name]).abs().max().item()
        if not math.isfinite(difference):
            return math.inf
        greatest = max(greatest, difference)
    return greatest


def main(format, script, samples, out):
    try:
        import torch
    except Exception as error:  # a library that is missing is an ImportError, an OSError or a ValueError
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            sys.exit(f"{sys.executable} has no torch: name a Python that has it with --python")
        found = importlib.util.find_spec("torch")
        sys.exit(f"{sys.executable} cannot import {found.origin if found else 'torch'}: {error}. The LibTorch that "
                 "cmake/go installs is for C++ alone: pip install torch in a folder of its own for PYTHONPATH, or name "
                 "another Python with --python")
    warnings.simplefilter("ignore")
    with open(samples + ".json") as file:
        notes = json.load(file)
    names = notes["outputs"]
    image, = read(torch, samples, [notes["shape"]])
    expected = dict(zip(names, read(torch, samples + ".outputs", notes["shapes"])))
    module = torch.jit.load(script).eval()
    made = script
    with torch.no_grad():
        def run(rows):
            return as_dict(module(rows), names)

        one = run(image[:1])
        if format != "torchscript":
            made = os.path.join(os.path.dirname(samples), {"onnx": "net.onnx", "aoti": "net.pt2"}[format])
            try:
                run = {"onnx": to_onnx, "aoti": to_aoti}[format](torch, module, image, names, made)
            except ImportError as error:
                sys.exit(f"{sys.executable}: {error}: pip install onnx onnxruntime")
        difference = greatest_difference(run(image), expected)
        if format == "onnx":  # takes other numbers of rows, too
            difference = max(difference, greatest_difference(run(image[:1]), one))
    print(f"{format} in Python: greatest difference to the net on {len(image)} samples: {difference:.3g}")
    limit = TOLERANCE * max(1.0, *(output.abs().max().item() for output in expected.values()))
    if not difference <= limit:
        sys.exit(DISAGREES)
    shutil.copyfile(made, out + ".unfinished")
    os.replace(out + ".unfinished", out)


if __name__ == "__main__":
    main(*sys.argv[1:])
