"""Writes the golden files of the nets of recordings (made with torch 2.11.0 and torchaudio 2.11.0).

    python3 tests/nets/golden/speech_nets.py

conformer.safetensors: weights, `logits` (B, T', K), `loss` and gradients (gradient.<name>) of torchaudio's Conformer
between two strided convolutions and a linear layer, for padded rows, with torch's CTCLoss; padding is 0 before the
convolutions over time. crnn.safetensors: the same of a net with torch's nn.GRU over packed rows, and its `classes`,
the logits of whole rows.
"""

import pathlib

import torch
import torchaudio
from safetensors.torch import save_file
from torch.nn.functional import relu
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

HERE = pathlib.Path(__file__).parent
FEATURES, LABELS = 15, 5
LENGTHS = torch.tensor([23, 11, 17])
LABEL = torch.tensor([[3, 0, -100], [1, -100, -100], [4, 2, -100]])


class Conformer(torchaudio.models.Conformer):
    def __init__(self, width=8):
        super().__init__(width, num_heads=2, ffn_dim=4 * width, num_layers=2, depthwise_conv_kernel_size=5)
        self.embed = torch.nn.ModuleDict({
            "conv": torch.nn.Sequential(torch.nn.Conv2d(1, width, 3, 2), torch.nn.ReLU(),
                                        torch.nn.Conv2d(width, width, 3, 2), torch.nn.ReLU()),
            "out": torch.nn.Sequential(torch.nn.Linear(3 * width, width))})
        self.head = torch.nn.Linear(width, LABELS + 1)
        for layer in self.conformer_layers:
            layer.conv_module.sequential[2].register_forward_pre_hook(
                lambda module, inputs: inputs[0].masked_fill(self.padding, 0))

    def forward(self, features, lengths):
        x = self.embed["out"](self.embed["conv"](features.unsqueeze(1)).transpose(1, 2).flatten(2))
        lengths = ((lengths - 1) // 2 - 1) // 2
        self.padding = (torch.arange(x.shape[1]) >= lengths.unsqueeze(1)).unsqueeze(1)
        return self.head(super().forward(x, lengths)[0]), lengths


class Crnn(torch.nn.Module):
    def __init__(self, channels=(4, 6), width=7):
        super().__init__()
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in zip((1, *channels), channels))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(b) for b in channels)
        self.gru = torch.nn.GRU(channels[-1] * 4, width, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(2 * width, LABELS + 1)

    def forward(self, features, lengths):
        x = features.unsqueeze(1)
        for convolution, norm in zip(self.convolutions, self.norms):
            x = relu(norm(convolution(x)))
            x = x * (torch.arange(x.shape[2]) < lengths.unsqueeze(1)).view(len(x), 1, -1, 1)
            x = torch.nn.functional.max_pool2d(x, 2, ceil_mode=True)
            lengths = (lengths + 1) // 2
        packed = pack_padded_sequence(x.transpose(1, 2).flatten(2), lengths, batch_first=True, enforce_sorted=False)
        x = pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]
        self.mean = x.sum(1) / lengths.unsqueeze(1)  # padding is 0
        return self.head(x), lengths


def gru_names(named):
    """The two directions of nn.GRU as two modules."""
    for name, tensor in named:
        way = "backwards" if name.endswith("_reverse") else "onwards"
        yield name.replace("gru", way).removesuffix("_reverse"), tensor


def results(net, features, names):
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    weights = {name: tensor.detach().clone() for name, tensor in names(net.state_dict().items())}
    logits, lengths = net(features, LENGTHS)
    log_probs = logits.log_softmax(2).transpose(0, 1)
    loss = torch.nn.CTCLoss(blank=LABELS)(log_probs, LABEL.clamp(min=0), lengths, (LABEL >= 0).sum(1))
    loss.backward()
    own = torch.arange(logits.shape[1]) < lengths.unsqueeze(1)
    return {**weights, "features": features, "features_length": LENGTHS, "label": LABEL, "logits_length": lengths,
            "logits": (logits * own.unsqueeze(2)).detach(), "loss": loss.detach(),
            **{"gradient." + name: parameter.grad for name, parameter in
               names((name, parameter) for name, parameter in net.named_parameters())}}


def main():
    torch.manual_seed(7)
    features = torch.randn(3, 23, FEATURES) * (torch.arange(23) < LENGTHS.unsqueeze(1)).unsqueeze(2)
    save_file(results(Conformer(), features, lambda named: named), HERE / "conformer.safetensors")
    net = Crnn()
    values = results(net, features, gru_names)
    classes = net.head(net.mean)
    save_file({**values, "classes": classes.detach()}, HERE / "crnn.safetensors")


if __name__ == "__main__":
    main()
