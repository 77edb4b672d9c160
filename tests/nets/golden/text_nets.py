"""Writes the golden files of the nets of texts (made with torch 2.11.0 and transformers 4.57.3).

    python3 tests/nets/golden/text_nets.py

gpt2/: a small GPT2LMHeadModel of random weights, as save_pretrained() writes it, in several files with an index.
gpt2.safetensors: its `tokens`, `label` (-100 where none counts), `logits` (B, L, V), `loss`, the gradients of the loss
(gradient.<name>), and `text`: what it says by greedy choice after `prompt`.
encoder.safetensors: weights, `logits` and gradients of torch's nn.TransformerEncoder with embeddings and a linear layer
for each token, for padded rows.
"""

import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent


def gradients(parameters):
    return {"gradient." + name: parameter.grad for name, parameter in parameters}


def write_gpt2():
    config = transformers.GPT2Config(
        vocab_size=61, n_positions=208, n_embd=16, n_layer=2, n_head=2, initializer_range=0.3,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=None)
    net = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        net.transformer.wpe.weight.mul_(4)  # else it says few different tokens
    shutil.rmtree(HERE / "gpt2", ignore_errors=True)
    net.save_pretrained(HERE / "gpt2", max_shard_size="20KB")
    for file in ("config.json", "generation_config.json"):
        (HERE / "gpt2" / file).unlink()
    tokens = torch.randint(61, (2, 12))
    label = torch.cat([tokens[:, 1:], torch.full((2, 1), -100)], 1)
    logits = net(tokens).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), label.flatten())
    loss.backward()
    prompt = torch.tensor([[7, 21, 3, 40]])
    text = net.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=200, do_sample=False)[:, 4:]
    save_file({"tokens": tokens, "label": label, "logits": logits.detach(), "loss": loss.detach(), "prompt": prompt,
               "text": text.contiguous(), **gradients(net.named_parameters())}, HERE / "gpt2.safetensors")


class Encoder(torch.nn.Module):
    def __init__(self, width=12, heads=3, layers=2, vocabulary=19, length=9, outputs=5):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(length, width)
        self.types = torch.nn.Embedding(2, width)
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu",
                                                 batch_first=True, norm_first=True)
        encoder = torch.nn.TransformerEncoder(layer, layers, torch.nn.LayerNorm(width), enable_nested_tensor=False)
        self.layers, self.norm = encoder.layers, encoder.norm
        self.head = torch.nn.Linear(width, outputs)

    def forward(self, tokens, types, lengths):
        places = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.positions(places) + self.types(types)
        padding = places.unsqueeze(0) >= lengths.unsqueeze(1)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        return self.head(self.norm(x))


def write_encoder():
    net = Encoder()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    tokens, types, lengths = torch.randint(19, (3, 7)), torch.randint(2, (3, 7)), torch.tensor([7, 2, 5])
    label = torch.randint(5, (3, 7)).masked_fill(torch.arange(7) >= lengths.unsqueeze(1), -100)
    logits = net(tokens, types, lengths)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), label.flatten()).backward()
    own = torch.arange(7) < lengths.unsqueeze(1)
    save_file({"tokens": tokens, "type": types, "tokens_length": lengths, "label": label,
               "logits": (logits * own.unsqueeze(2)).detach(), **{n: p.detach() for n, p in net.named_parameters()},
               **gradients(net.named_parameters())}, HERE / "encoder.safetensors")


if __name__ == "__main__":
    torch.manual_seed(5)
    write_gpt2()
    write_encoder()
