import json
import random
import runpy

import flowtrain as ft
import torch
from torch.nn.functional import cross_entropy, softplus

script = runpy.run_path("examples/own_gan.py")
gan, generate, discriminator_loss = script["Gan"](), script["generate"], script["discriminator_loss"]
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 6))
batch = example = {"image": torch.rand(8, 3, 32, 32), "label": torch.zeros(8, dtype=torch.int64)}

with open("clips.jsonl", "w") as file:
    for length in range(1, 200):
        file.write(json.dumps({"tokens": [random.randrange(1000) for _ in range(length)]}) + "\n")
