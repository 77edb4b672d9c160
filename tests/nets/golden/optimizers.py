"""Writes optimizers.txt, what optimizers come to (made with torch 2.11.0, timm 1.0.31 and KellerJordan/Muon of 2025).

    python3 tests/nets/golden/optimizers.py MUON_PY

MUON_PY is muon.py of github.com/KellerJordan/Muon. A line for each case and parameter: their names, and the values
after 25 steps, the last fifteen of them with half the rate. tests/nets/optimizer_cases_test.cpp holds the same first
values, gradients and cases. All is f64, also the iteration of Muon, which its authors have in bf16. One case is f32
with that iteration in bf16.
"""

import importlib.util
import pathlib
import sys

import timm.optim
import torch

SHAPES = {"wide": (3, 5), "tall": (6, 2), "conv": (4, 2, 3, 2), "embed": (4, 3), "bias": (5,), "scale": ()}
STEPS, SLOWER = 25, 10


def pattern(count, seed):
    """Values in [-0.5, 0.5): the high bits of a linear congruential hash of the index, exact in integers."""
    index = torch.arange(count, dtype=torch.int64) + seed * 1000003
    return ((index * 1103515245 + 12345) % 2147483648 // 32768).double() / 65536 - 0.5


def parameters(names, dtype):
    made = {}
    for seed, (name, shape) in enumerate(SHAPES.items()):
        values = pattern(torch.Size(shape).numel(), seed).view(shape).to(dtype)
        if name in names:
            made[name] = torch.nn.Parameter(values)
    return made


def run(make, names=tuple(SHAPES), dtype=torch.double):
    params = parameters(names, dtype)
    optimizer = make(params)
    for step in range(STEPS):
        if step == SLOWER:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        for seed, (name, shape) in enumerate(SHAPES.items()):
            if name in names:
                values = pattern(torch.Size(shape).numel(), 100 * (step + 1) + seed)
                params[name].grad = values.view(shape).to(dtype)
        optimizer.step()
    return params


def keller(module, lr, **keys):
    def make(params):
        hidden = {name: p for name, p in params.items() if p.dim() > 1 and name != "embed"}
        others = [p for name, p in params.items() if name not in hidden]
        return module.SingleDeviceMuonWithAuxAdam([
            dict(params=list(hidden.values()), use_muon=True, lr=lr, **keys),
            dict(params=others, use_muon=False, lr=0.015 * lr, weight_decay=keys.get("weight_decay", 0)),
        ])

    return make


def of(maker, **keys):
    return lambda params: maker(list(params.values()), **keys)


def main():
    spec = importlib.util.spec_from_file_location("muon", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    optim, lamb, lion = torch.optim, timm.optim.Lamb, timm.optim.Lion
    matrices = ("wide", "tall")
    results = {"muon_bf16": run(keller(module, 0.02, weight_decay=0.1), dtype=torch.float32)}
    torch.Tensor.bfloat16 = lambda tensor: tensor.clone()
    results |= {
        "rmsprop": run(of(optim.RMSprop, lr=0.01)),
        "rmsprop_decayed": run(of(optim.RMSprop, lr=0.01, alpha=0.9, eps=1e-4, weight_decay=0.1)),
        "rmsprop_momentum": run(of(optim.RMSprop, lr=0.01, momentum=0.8)),
        "rmsprop_centered": run(of(optim.RMSprop, lr=0.01, momentum=0.8, centered=True, weight_decay=0.1)),
        "adafactor": run(of(optim.Adafactor, lr=0.01)),
        "adafactor_cut": run(of(optim.Adafactor, lr=0.5, weight_decay=0.1, d=1.2, eps=(1e-2, 0.5), beta2_decay=-0.5)),
        "lion": run(of(lion, lr=0.01)),
        "lion_decayed": run(of(lion, lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)),
        "lamb": run(of(lamb, lr=0.01, weight_decay=0.1, max_grad_norm=None)),
        "lamb_all": run(of(lamb, lr=0.01, weight_decay=0, always_adapt=True, betas=(0.8, 0.95), max_grad_norm=None)),
        "lamb_cut": run(of(lamb, lr=0.1, weight_decay=0.01, trust_clip=True, eps=1e-3, max_grad_norm=None)),
        "muon": run(keller(module, 0.02)),
        "muon_decayed": run(keller(module, 0.02, weight_decay=0.1, momentum=0.8)),
        "muon_torch": run(of(optim.Muon, lr=0.02, weight_decay=0.1), matrices),
        "muon_matched": run(of(optim.Muon, lr=0.02, weight_decay=0, adjust_lr_fn="match_rms_adamw", nesterov=False,
                               ns_steps=3), matrices),
    }
    with open(pathlib.Path(__file__).parent / "optimizers.txt", "w") as file:
        for case, params in results.items():
            for name, value in params.items():
                print(case, name, *(f"{x:.12g}" for x in value.flatten().tolist()), file=file)


main()
