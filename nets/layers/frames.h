#pragma once
// The base of nets of recordings: the field `features`, and logits of frames or of whole rows. Only nets/ includes it.

#include <cstdint>
#include <memory>

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/layers/module.h"
#endif

namespace flowtrain::nets {

/// Returns the key `head` of a net of recordings.
inline Key head_of_frames() {
  return {.name = "head",
          .kind = Kind::text,
          .fallback = std::string("auto"),
          .help = "logits for each frame and a blank (`ctc`), or for each `row`; auto: as the field `label` has them",
          .choices = {"auto", "ctc", "row"}};
}

#if FLOWTRAIN_COMPUTES

/// The frames (B, T, values) of recordings, of which the first `lengths` (B) i64 of each row are its own.
struct Frames {
  at::Tensor values, lengths;

  /// Returns which frames (B, T) are a row's own.
  at::Tensor own() const;
};

/// A module that reads recordings.
class FramesModule : public torch::nn::Module {
 public:
  /// Throws UserError(usage) if there is no field `features`, or nothing that says the number of logits.
  FramesModule(const Settings& settings, const NetInput& input);

  /// Maps the field `features` to frames of any number, which the head reads.
  virtual Frames encode(const Frames& features) = 0;
  /// Returns `logits` and, for the loss ctc, `logits_length`, as as_net() of this file describes them.
  NamedTensors forward(const NamedTensors& batch);
  /// Returns whether there are logits of frames, with their numbers.
  bool gives_lengths() const { return ctc_; }

 protected:
  /// Registers the last layer, `head`, for frames of `width` values.
  void register_head(std::int64_t width);
  std::int64_t features() const { return features_; }

 private:
  const std::int64_t features_;
  const bool ctc_;
  const std::int64_t outputs_;
  torch::nn::Linear head_{nullptr};
};

/// Wraps the module as a Net. For transcripts (the loss ctc) it gives `logits` (B, K, T'), a view of (B, T', K), whose
/// last class is the blank, and `logits_length` (B) i64. For classes of rows it gives `logits` (B, K): the head reads
/// the mean over a row's frames.
std::unique_ptr<Net> as_net(std::shared_ptr<FramesModule> module);

#endif

}  // namespace flowtrain::nets
