import torch

image = torch.zeros(4, 3, 32, 32)
