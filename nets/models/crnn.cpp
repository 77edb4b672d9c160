// A small convolutional-recurrent net for recordings, after K. Choi et al., "Convolutional recurrent neural networks
// for music classification", ICASSP 2017: convolutions that halve time and frequency, then recurrent units in both
// directions. Padding is set to 0 after each convolution, and no recurrence begins in it, so in evaluation it changes
// no logits. In training, batch normalisation takes its statistics over padding, too.

#include "nets/layers/frames.h"

#if FLOWTRAIN_COMPUTES
#include <torch/nn/modules/rnn.h>

#include "nets/layers/attention.h"
#include "nets/layers/batch_norm.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace nn = torch::nn;

namespace {

class Crnn final : public FramesModule {
 public:
  Crnn(const Settings& settings, const NetInput& input)
      : FramesModule(settings, input), dropout_(settings.real("dropout")) {
    std::int64_t channels = 1, values = features();
    for (const std::int64_t wanted : settings.integers("channels")) {
      convolutions_->push_back(nn::Conv2d(nn::Conv2dOptions(channels, wanted, 3).padding(1).bias(false)));
      norms_->push_back(BatchNorm2d(wanted));
      channels = wanted;
      values = (values + 1) / 2;
    }
    register_module("convolutions", convolutions_);
    register_module("norms", norms_);
    const std::int64_t width = settings.integer("width");
    const auto units = [&] { return nn::GRU(nn::GRUOptions(channels * values, width).batch_first(true)); };
    onwards_ = register_module("onwards", units());
    backwards_ = register_module("backwards", units());
    register_head(2 * width);
  }

  Frames encode(const Frames& features) override {
    at::Tensor x = features.values.unsqueeze(1), lengths = features.lengths;  // (B, channels, T, values)
    const auto masked = [&] {
      const at::Tensor padding = positions_within(lengths, x.size(2)).logical_not();
      return x.masked_fill(padding.unsqueeze(1).unsqueeze(3), 0);
    };
    x = masked();
    for (std::size_t i = 0; i < convolutions_->size(); ++i) {
      x = at::relu(norms_[i]->as<BatchNorm2d>()->forward(convolutions_[i]->as<nn::Conv2d>()->forward(x)));
      // A window at the end holds a frame and padding, which is 0 and so not the greatest.
      x = at::max_pool2d(masked(), 2, 2, 0, 1, /*ceil_mode=*/true);
      lengths = (lengths + 1).div(2, "floor");
    }
    x = x.transpose(1, 2).flatten(2);  // (B, T, channels * values)
    const at::Tensor reversed = reversed_places(lengths, x.size(1)).unsqueeze(2);
    const auto turned = [&](const at::Tensor& of) { return of.gather(1, reversed.expand({-1, -1, of.size(2)})); };
    x = at::cat({std::get<0>(onwards_(x)), turned(std::get<0>(backwards_(turned(x))))}, 2);
    return {at::dropout(x, dropout_, is_training()), lengths};
  }

 private:
  /// Returns the places (B, T) of each row's frames in reverse; padding stays where it is.
  static at::Tensor reversed_places(const at::Tensor& lengths, std::int64_t extent) {
    const at::Tensor places = at::arange(extent, lengths.options()).unsqueeze(0), last = lengths.unsqueeze(1) - 1;
    return at::where(places.le(last), last - places, places);
  }

  nn::ModuleList convolutions_, norms_;
  nn::GRU onwards_{nullptr}, backwards_{nullptr};
  double dropout_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(crnn) {
  parts.nets.add(
      {"crnn",
       "convolutions and recurrent units that read recordings, small and quick: for classes, or transcripts",
       {{"channels", Kind::integers, std::vector<std::int64_t>{16, 32},
         "channels of the convolutions, each of which halves the number of frames and of their values", 1, 1 << 16},
        {"width", Kind::integer, std::int64_t{64}, "number of recurrent units of each direction", 1, 1 << 16},
        {"dropout", Kind::real, 0.0, "share of activations that training drops", 0, 0.999},
        head_of_frames()},
       FLOWTRAIN_MAKE([](const Settings& settings, const NetInput& input) {
         return as_net(std::make_shared<Crnn>(settings, input));
       }),
       {.least_side = 0}});
}

}  // namespace flowtrain::nets
