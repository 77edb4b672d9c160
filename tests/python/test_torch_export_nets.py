"""Nets of libraries and of one's own, exported and held against eager PyTorch for 20 steps: losses, gradients, weights
after each update, buffers, and the evaluation after them. Tier full has a few, nightly all."""

import random

import flowtrain as ft
import pytest
import torch
import torch.nn.functional as F
from conftest import NIGHTLY
from flowtrain._export import _check, export_package
from flowtrain._export._command import named_model, parser
from torch import nn
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")
IMAGES = {"image": torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1)), "label": torch.arange(4)}
TEXT = "--length 12 --set num_hidden_layers=1 --set hidden_size=16 --set num_attention_heads=2 --set vocab_size=31 "
UNDROPPED = "--set hidden_dropout_prob=0 --set attention_probs_dropout_prob=0"
NAMED = {
    "shufflenet_v2_x0_5": "torchvision:shufflenet_v2_x0_5 --classes 5 --size 32",
    "squeezenet1_1": "torchvision:squeezenet1_1 --classes 5 --size 32 --set dropout=0",
    "resnet10t": "timm:resnet10t --classes 5 --size 32",
    "deit": "timm:deit_tiny_patch16_224 --classes 5 --size 32 --set depth=2 --set embed_dim=32 --set num_heads=2",
    "swin": "timm:swin_tiny_patch4_window7_224 --classes 5 --size 32 --set depths=[1,1] --set embed_dim=16 "
            "--set num_heads=[1,2] --set window_size=4",
    "mambaout": "timm:test_mambaout --classes 5 --size 32",
    "efficientnet_gn": "timm:test_efficientnet_gn --classes 5 --size 32",
    "nfnet": "timm:test_nfnet --classes 5 --size 32",
    "albert": f"hf:albert {TEXT} --set intermediate_size=32 --set embedding_size=16",
    "electra": f"hf:electra {TEXT} --set intermediate_size=32 --set embedding_size=16 {UNDROPPED}",
    "gpt_neox": f"hf:gpt_neox {TEXT} --set intermediate_size=32",
    "opt": f"hf:opt {TEXT} --set ffn_dim=32 --set word_embed_proj_dim=16 --set dropout=0",
    "qwen2_moe": f"hf:qwen2_moe {TEXT} --set moe_intermediate_size=16 --set shared_expert_intermediate_size=16 "
                 "--set num_key_value_heads=2 --set num_experts=4 --set num_experts_per_tok=2",
}


def trunk():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())


class Halved(nn.Module):
    """Parameters in bf16, an f32 one beside them, and buffers in modules that have no parameters."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(trunk(), nn.Linear(32, 16), nn.GELU()).bfloat16()
        self.norm = nn.BatchNorm1d(16, affine=False)
        self.last = nn.Linear(16, 5)
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, image):
        if self.training:
            self.seen += image.mean().abs()
        return self.last(self.norm(self.body(image.bfloat16()).float()))


class Hooked(nn.Module):
    """Hooks of weights, of modules, a parametrization, and a function with a backward pass of its own."""

    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            return -gradient

    def __init__(self):
        super().__init__()
        self.trunk, self.last = trunk(), nn.utils.parametrizations.spectral_norm(nn.Linear(32, 5))
        self.old = nn.utils.weight_norm(nn.Linear(32, 5))
        self.trunk[0].weight.register_hook(lambda gradient: gradient * 0.5)
        self.trunk[0].register_full_backward_hook(lambda module, into, out: None)
        self.trunk[1].register_full_backward_hook(lambda module, into, out: (into[0] * 3,))
        self.trunk[2].register_forward_hook(lambda module, into, out: out * 2)
        self.old.bias.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))

    def forward(self, image):
        hidden = self.trunk(image)
        return self.last(self.Reversed.apply(hidden)) + self.old(hidden)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = trunk(), nn.Linear(32, 5)
        self.middle = nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.3))

    def forward(self, image):
        hidden = checkpoint(self.middle, self.first(image), use_reentrant=False)
        return self.last(checkpoint(self.middle, hidden, use_reentrant=True))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layers = kind(64, 8, num_layers=2, batch_first=True, **options)
        self.last = nn.Linear(8 * (2 if options.get("bidirectional") else 1), 5)

    def forward(self, image):
        return self.last(self.layers(image.flatten(2))[0][:, -1])


class Shuffled(nn.Module):
    """Rows in another order, and a hard choice that has a gradient."""

    def __init__(self):
        super().__init__()
        self.trunk, self.codes = nn.Sequential(trunk(), nn.Linear(32, 6)), nn.Linear(6, 5)

    def forward(self, image):
        order = torch.randperm(image.shape[0])
        return self.codes(F.gumbel_softmax(self.trunk(image)[order], hard=True)) + self.trunk(image)[:, :5]


class GammaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(trunk(), nn.Linear(32, 5))

    def forward(self, image):
        shape = F.softplus(self.trunk(image)) + 0.1
        return torch.distributions.Gamma(shape, torch.ones_like(shape), validate_args=False).rsample()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(192, 8), nn.Linear(4, 192)

    def forward(self, image):
        mean, spread = self.encoder(image.flatten(1)).chunk(2, 1)
        drawn = mean + torch.randn_like(mean) * spread.exp() if self.training else mean
        return self.decoder(drawn), mean, spread


class Momentum(nn.Module):
    """A second trunk that follows the first, as in MoCo; buffers that are assigned; and parameters of one number."""

    def __init__(self):
        super().__init__()
        self.trunk, self.follower = trunk(), trunk().requires_grad_(False)
        self.slope, self.heat = nn.PReLU(), nn.Parameter(torch.tensor(0.5))
        self.register_buffer("centre", torch.zeros(32))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, image):
        with torch.no_grad():
            if self.training:
                for ours, theirs in zip(self.follower.parameters(), self.trunk.parameters()):
                    ours.mul_(0.9).add_(theirs, alpha=0.1)
            target = self.follower(image)
            if self.training:
                self.centre = 0.9 * self.centre + 0.1 * target.mean(0)
                self.calls = self.calls + 2
        return self.slope(self.trunk(image) - self.centre) * self.heat.exp(), target


def momentum_loss(net, batch):
    online, target = net(batch["image"])
    return -F.cosine_similarity(online, target).mean() + online.square().mean()


class Experts(nn.Module):
    """Attention over channels, then a soft mixture of experts."""

    def __init__(self):
        super().__init__()
        self.attention = nn.TransformerEncoderLayer(64, 2, 32, dropout=0, batch_first=True, norm_first=True)
        self.gate, self.norm = nn.Linear(64, 3, bias=False), nn.RMSNorm(64)
        self.experts = nn.ModuleList(nn.Linear(64, 5, bias=False) for _ in range(3))

    def forward(self, image):
        hidden = self.norm(self.attention(image.flatten(2))).mean(1)
        shares = self.gate(hidden).softmax(1)
        return sum(shares[:, i:i + 1] * F.silu(expert(hidden)) for i, expert in enumerate(self.experts))


class Dropped(nn.Module):
    """LayerDrop by Python's generator."""

    def __init__(self):
        super().__init__()
        self.trunk, self.layers = trunk(), nn.ModuleList(nn.Linear(32, 32) for _ in range(4))
        self.last = nn.Linear(32, 5)

    def forward(self, image):
        hidden = self.trunk(image)
        for layer in self.layers:
            if not self.training or random.random() > 0.5:
                hidden = hidden + layer(hidden).relu()
        return self.last(hidden)


def autoencoder_loss(net, batch):
    made, mean, spread = net(batch["image"])
    divergence = (mean.square() + (2 * spread).exp() - 2 * spread - 1).mean()
    return {"loss": F.mse_loss(made, batch["image"].flatten(1)) + 0.01 * divergence, "divergence": divergence.detach()}


def penalty_loss(net, batch):
    share = torch.rand(batch["image"].shape[0], 1, 1, 1)
    mixed = (share * batch["image"] + (1 - share) * batch["image"].flip(0)).requires_grad_()
    scores = net(mixed)
    slope, = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
    return net(batch["image"]).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def pairs_loss(net, batch):
    one, other = (F.normalize(net(batch["image"] * factor), dim=1) for factor in (1, 0.9))
    return F.cross_entropy(one @ other.T / 0.1, torch.arange(one.shape[0]))


def upscaling_loss(net, batch):
    return F.smooth_l1_loss(net(F.avg_pool2d(batch["image"], 2)), batch["image"])


OWN = {
    "bf16 and buffers": (Halved, None),
    "hooks": (Hooked, None),
    "checkpoints": (Checkpointed, None),
    "LSTM": (lambda: Recurrent(nn.LSTM, dropout=0.3), None),
    "GRU, two directions": (lambda: Recurrent(nn.GRU, bidirectional=True), None),
    "gumbel, randperm": (Shuffled, None),
    "gamma": (GammaNet, None),
    "autoencoder": (Autoencoder, autoencoder_loss),
    "gradient penalty": (lambda: nn.Sequential(trunk(), nn.Linear(32, 1)), penalty_loss),
    "pairs": (lambda: nn.Sequential(trunk(), nn.Linear(32, 8)), pairs_loss),
    "upscaling": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 12, 3, padding=1), nn.InstanceNorm2d(12, affine=True),
                                        nn.PReLU(), nn.PixelShuffle(2)), upscaling_loss),
    "compiled": (lambda: torch.compile(nn.Sequential(torch.compile(trunk()), nn.BatchNorm1d(32), nn.Linear(32, 5))),
                 None),
    "attention, experts": (Experts, None),
    "upsampled, grouped": (lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(128, 5)), None),
    "momentum": (Momentum, momentum_loss),
    "LayerDrop": (Dropped, None),
}
IN_FULL = ["bf16 and buffers", "hooks"]


def export(name, path):
    torch.manual_seed(0)
    if name in OWN:
        make, loss = OWN[name]
        return ft.export(make(), path, {"image": IMAGES["image"]} if loss else IMAGES, loss)
    words = NAMED[name].split()
    pytest.importorskip({"hf": "transformers"}.get(words[0].partition(":")[0], words[0].partition(":")[0]))
    model = named_model(parser().parse_args([*words, "-o", str(path)]))
    return export_package(model.net, path, model.example(4), model.loss, model.outputs)


@pytest.mark.parametrize("name", [*OWN, *NAMED] if NIGHTLY else IN_FULL)
@pytest.mark.filterwarnings("ignore")
def test_a_package_computes_what_eager_pytorch_does(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_check, "STEPS", 20)
    export(name, tmp_path / "net.pt2")
    assert (tmp_path / "net.pt2").is_file()


@pytest.mark.skipif(not NIGHTLY, reason="it compiles")
def test_pictures_with_channels_last_are_read_in_the_order_of_their_axes(tmp_path):
    """The loss itself flattens them: code for another layout reads them in the order of memory."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 192))
    batch = {"image": IMAGES["image"].contiguous(memory_format=torch.channels_last)}
    ft.export(net, tmp_path / "net.pt2", batch, lambda net, batch: F.mse_loss(
        net(batch["image"]), batch["image"].flatten(1)))
    assert (tmp_path / "net.pt2").is_file()
