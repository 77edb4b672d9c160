#pragma once
// Turns the outputs of a net with a CTC loss (A. Graves et al., "Connectionist Temporal Classification", ICML 2006)
// into labels. This file needs no torch.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"
#include "stages/decoding/ngram_model.h"

namespace flowtrain {

/// Finds the labels of one row after another. Const and called from many threads at once; scratch memory is
/// thread_local.
class CtcDecoder {
 public:
  /// `decode` is the table [decode], whose `name` is not empty; `label` is the field that the net learns, or null;
  /// `blank` is the class without a label, negative: counted from the last one, -1. Opens the language model. Throws
  /// UserError for one that cannot be read, or that the labels do not fit.
  CtcDecoder(const Settings& decode, const Field* label, std::int64_t blank);
  ~CtcDecoder();

  /// Returns the labels of a row by the logarithms of probabilities (frames, classes), row by row. A NaN is a
  /// probability of 0. Throws std::invalid_argument if the blank is no class.
  std::vector<std::int64_t> operator()(std::span<const float> logs, std::size_t classes) const;

 private:
  class TextModel;
  class Search;

  std::int64_t blank_of(std::size_t classes) const;

  const std::int64_t blank_;
  std::size_t beam_ = 0;  // 0: the best class of each frame
  double least_log_ = 0;  // classes with a lower logarithm are not followed
  std::unique_ptr<const TextModel> text_;
};

}  // namespace flowtrain
