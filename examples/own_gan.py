#!/usr/bin/env python3
"""Two nets that learn from each other, each with a loss of its own: python examples/own_gan.py gan.pt2

    flowtrain configs/gan_shapes.toml --set net.package=gan.pt2
"""
import sys

import flowtrain as ft
import torch
from torch import nn
from torch.nn.functional import softplus

LATENT = 64


def up(inputs, outputs):
    return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1), nn.BatchNorm2d(outputs), nn.ReLU())


def down(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 4, 2, 1), nn.GroupNorm(1, outputs), nn.LeakyReLU(0.2))


class Gan(nn.Module):
    """After DCGAN (Radford et al. 2015), for pictures of 32 x 32."""

    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(LATENT, 128 * 4 * 4), nn.Unflatten(1, (128, 4, 4)), up(128, 64),
                                       up(64, 32), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
        self.discriminator = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), down(32, 64), down(64, 128),
                                           nn.Flatten(), nn.Linear(128 * 4 * 4, 1))


def generate(net, batch):
    return net.generator(torch.randn(batch["image"].shape[0], LATENT, device=batch["image"].device))


def discriminator_loss(net, batch):
    """`loss` is optimized; the others are shown beside it: for how real each kind of picture is taken."""
    with torch.no_grad():
        pictures = generate(net, batch)
    real, fake = net.discriminator(batch["image"]), net.discriminator(pictures)
    return {"loss": softplus(-real).mean() + softplus(fake).mean(),
            "real": real.sigmoid().mean(), "fake": fake.sigmoid().mean()}


def generator_loss(net, batch):
    net.discriminator.requires_grad_(False)  # in this loss alone: its gradients need not be computed
    return softplus(-net.discriminator(generate(net, batch))).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    losses = {"discriminator": discriminator_loss, "generator": generator_loss}
    ft.export(Gan(), sys.argv[1], {"image": torch.zeros(8, 3, 32, 32)}, losses,
              lambda net, batch: {"image": generate(net, batch)})
