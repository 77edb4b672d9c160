// Conformer: A. Gulati et al., "Conformer: Convolution-augmented Transformer for Speech Recognition", Interspeech 2020.
// The layers have the names, equations and first values of torchaudio's models.Conformer, whose weights load; attention
// has no positions there either. The convolutions before them, which join frames, are named as in ESPnet. What is
// padding is set to 0 before the convolutions over time, which torchaudio does not do: so in evaluation padding changes
// no logits. In training, batch normalisation takes its statistics over padding, too, as there.

#include "nets/layers/frames.h"

#if FLOWTRAIN_COMPUTES
#include <torch/nn/init.h>

#include <bit>

#include "nets/layers/batch_norm.h"
#include "nets/layers/transformer.h"
#include "sampling/core/text.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace nn = torch::nn;

namespace {

/// Layers with the numbers that they have in a torch.nn.Sequential, whose other layers have no parameters.
struct NumberedLayers final : nn::Module {
  template <class Layer>
  Layer add(int number, Layer layer) {
    return Layer(register_module(std::to_string(number), std::move(layer)));
  }
};

struct ConformerSize {
  ConformerSize(const Settings& settings, const NetInput& input)
      : layers(settings.integer("layers")),
        heads(settings.integer("heads")),
        width(settings.integer("width")),
        kernel(settings.integer("kernel")),
        channels(settings.integer("channels")),
        dropout(settings.real("dropout")),
        batch_norm(settings.text("norm") == "batch") {
    check_heads(settings);
    if (kernel % 2 == 0) throw settings.error("kernel", concat(kernel, " is even, expected an odd number of frames"));
    const auto subsampling = static_cast<std::uint64_t>(settings.integer("subsampling"));
    if (!std::has_single_bit(subsampling))
      throw settings.error("subsampling", concat(subsampling, " is no power of 2"), ExitCode::usage,
                           "set 1, 2, 4 or 8: each convolution halves the number of frames");
    halvings = std::countr_zero(subsampling);
    if (channels == 0) channels = width;
    if (input.features < least_frames())
      throw settings.error(
          "subsampling",
          concat("frames have ", input.features, " values, but ", halvings, " convolutions need ", least_frames()),
          ExitCode::usage, "set a smaller net.subsampling");
  }

  /// Returns the number of frames, and of their values, of which the convolutions make one.
  std::int64_t least_frames() const { return (std::int64_t{2} << halvings) - 1; }

  std::int64_t layers, heads, width, kernel, channels, halvings = 0;
  double dropout;
  bool batch_norm;
};

/// Joins frames by convolutions of stride 2 without padding, and maps them to the width of the net.
struct ConformerEmbed final : nn::Module {
  ConformerEmbed(const ConformerSize& size, std::int64_t features)
      : least(size.least_frames()),
        conv(register_module("conv", std::make_shared<NumberedLayers>())),
        out(register_module("out", std::make_shared<NumberedLayers>())) {
    for (std::int64_t i = 0; i < size.halvings; ++i) {
      halves.push_back(
          conv->add(static_cast<int>(2 * i),
                    nn::Conv2d(nn::Conv2dOptions(i == 0 ? 1 : size.channels, size.channels, 3).stride(2))));
      features = (features - 1) / 2;
    }
    linear = out->add(0, nn::Linear(halves.empty() ? features : size.channels * features, size.width));
  }

  Frames forward(const Frames& frames) {
    if (halves.empty()) return {linear(frames.values), frames.lengths};
    at::Tensor x = frames.values.unsqueeze(1), lengths = frames.lengths;  // (B, 1, T, F)
    if (x.size(2) < least) x = at::constant_pad_nd(x, {0, 0, 0, least - x.size(2)});
    for (auto& half : halves) {
      x = at::relu(half(x));
      lengths = (lengths - 1).clamp_min(0).div(2, "floor");
    }
    return {linear(x.transpose(1, 2).flatten(2)), lengths};
  }

  std::int64_t least;
  std::shared_ptr<NumberedLayers> conv, out;
  std::vector<nn::Conv2d> halves;
  nn::Linear linear{nullptr};
};

struct ConformerFeedForward final : nn::Module {
  explicit ConformerFeedForward(std::int64_t width)
      : sequential(register_module("sequential", std::make_shared<NumberedLayers>())),
        norm(sequential->add(0, layer_norm(width))),
        wider(sequential->add(1, nn::Linear(width, 4 * width))),
        back(sequential->add(4, nn::Linear(4 * width, width))) {}

  at::Tensor forward(const at::Tensor& x, double dropout) {
    return at::dropout(back(at::dropout(at::silu(wider(norm(x))), dropout, true)), dropout, true);
  }

  std::shared_ptr<NumberedLayers> sequential;
  nn::LayerNorm norm;
  nn::Linear wider, back;
};

struct ConformerConvolution final : nn::Module {
  explicit ConformerConvolution(const ConformerSize& size)
      : norm(register_module("layer_norm", layer_norm(size.width))),
        sequential(register_module("sequential", std::make_shared<NumberedLayers>())),
        gated(sequential->add(0, nn::Conv1d(nn::Conv1dOptions(size.width, 2 * size.width, 1)))),
        over_time(sequential->add(
            2,
            nn::Conv1d(
                nn::Conv1dOptions(size.width, size.width, size.kernel).padding(size.kernel / 2).groups(size.width)))) {
    if (size.batch_norm)
      of_batch = sequential->add(3, BatchNorm2d(size.width));
    else
      of_frame = sequential->add(3, layer_norm(size.width));
    back = sequential->add(5, nn::Conv1d(nn::Conv1dOptions(size.width, size.width, 1)));
  }

  /// `padding` (B, T, 1) is true for frames that are none.
  at::Tensor forward(at::Tensor x, const at::Tensor& padding, double dropout) {
    x = at::glu(pointwise(gated, norm(x)), 2).masked_fill(padding, 0);
    x = over_time(x.transpose(1, 2));  // (B, width, T)
    x = of_batch ? of_batch(x.unsqueeze(2)).squeeze(2).transpose(1, 2) : of_frame(x.transpose(1, 2));
    return at::dropout(pointwise(back, at::silu(x)), dropout, true);
  }

  /// Computes a convolution over one frame, which is a linear layer.
  static at::Tensor pointwise(const nn::Conv1d& layer, const at::Tensor& x) {
    return at::linear(x, layer->weight.squeeze(2), layer->bias);
  }

  nn::LayerNorm norm;
  std::shared_ptr<NumberedLayers> sequential;
  nn::Conv1d gated, over_time, back{nullptr};
  BatchNorm2d of_batch{nullptr};
  nn::LayerNorm of_frame{nullptr};
};

struct ConformerLayer final : nn::Module {
  explicit ConformerLayer(const ConformerSize& size)
      : ffn1(register_module("ffn1", std::make_shared<ConformerFeedForward>(size.width))),
        self_attn_layer_norm(register_module("self_attn_layer_norm", layer_norm(size.width))),
        self_attn(register_module("self_attn", std::make_shared<SelfAttention>(size.width, size.heads))),
        conv_module(register_module("conv_module", std::make_shared<ConformerConvolution>(size))),
        ffn2(register_module("ffn2", std::make_shared<ConformerFeedForward>(size.width))),
        final_layer_norm(register_module("final_layer_norm", layer_norm(size.width))) {
    nn::init::xavier_uniform_(self_attn->in_proj_weight);
    nn::init::zeros_(self_attn->in_proj_bias);
    nn::init::zeros_(self_attn->out_proj->bias);
  }

  at::Tensor forward(at::Tensor x, const AttentionMask& mask, const at::Tensor& padding, double dropout) {
    x = x + 0.5 * ffn1->forward(x, dropout);
    x = x + at::dropout(self_attn->forward(self_attn_layer_norm(x), mask, dropout), dropout, true);
    x = x + conv_module->forward(x, padding, dropout);
    x = x + 0.5 * ffn2->forward(x, dropout);
    return final_layer_norm(x);
  }

  std::shared_ptr<ConformerFeedForward> ffn1;
  nn::LayerNorm self_attn_layer_norm;
  std::shared_ptr<SelfAttention> self_attn;
  std::shared_ptr<ConformerConvolution> conv_module;
  std::shared_ptr<ConformerFeedForward> ffn2;
  nn::LayerNorm final_layer_norm;
};

class Conformer final : public FramesModule {
 public:
  Conformer(const Settings& settings, const NetInput& input)
      : FramesModule(settings, input),
        size_(settings, input),
        embed_(register_module("embed", std::make_shared<ConformerEmbed>(size_, features()))) {
    const auto list = register_module("conformer_layers", nn::ModuleList());
    for (std::int64_t i = 0; i < size_.layers; ++i)
      list->push_back(layers_.emplace_back(std::make_shared<ConformerLayer>(size_)));
    register_head(size_.width);
  }

  Frames encode(const Frames& features) override {
    const double share = is_training() ? size_.dropout : 0;
    Frames frames = embed_->forward(features);
    frames.values = at::dropout(frames.values, share, true);
    const AttentionMask mask = within_lengths(frames.lengths, frames.values.size(1));
    const at::Tensor padding = frames.own().logical_not().unsqueeze(2);
    for (const auto& layer : layers_) frames.values = layer->forward(frames.values, mask, padding, share);
    return frames;
  }

 private:
  const ConformerSize size_;
  std::shared_ptr<ConformerEmbed> embed_;
  std::vector<std::shared_ptr<ConformerLayer>> layers_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(conformer) {
  parts.nets.add(
      {"conformer",
       "transformer with convolutions that reads recordings: for transcripts, or classes; layers as in torchaudio",
       {{"layers", Kind::integer, std::int64_t{16}, "number of layers", 1, 4096},
        {"heads", Kind::integer, std::int64_t{4}, "number of heads of attention, which divides `width`", 1, 4096},
        {"width", Kind::integer, std::int64_t{144}, "number of values for each frame", 1, 1 << 20},
        {"kernel", Kind::integer, std::int64_t{31}, "number of frames, odd, over which each layer convolves", 1, 65535},
        {"dropout", Kind::real, 0.1, "share of activations that training drops", 0, 0.999},
        {"subsampling", Kind::integer, std::int64_t{4},
         "number of frames that become one: 1, 2, 4 or 8; strided convolutions join them", 1, 8},
        {"channels", Kind::integer, std::int64_t{0}, "channels of the strided convolutions; 0: as many as `width`", 0,
         1 << 20},
        {.name = "norm",
         .kind = Kind::text,
         .fallback = std::string("batch"),
         .help =
             "normalisation after each convolution: over the `batch`, whose statistics in training include padding, or "
             "of each `frame`, independent of the batch",
         .choices = {"batch", "frame"}},
        head_of_frames()},
       FLOWTRAIN_MAKE([](const Settings& settings, const NetInput& input) {
         return as_net(std::make_shared<Conformer>(settings, input));
       }),
       {.least_side = 0}});
}

}  // namespace flowtrain::nets
