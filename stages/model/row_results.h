#pragma once
// A net's results for single rows of a validation batch, for people who look at samples one by one.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/tokens/edits.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// The result of one row, as far as the net, the loss and the batch define it.
struct RowResult {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  double loss = none;            ///< cross-entropy of this row's logits and label; for pixels or tokens, their mean
  std::int64_t prediction = -1;  ///< class with the largest logit
  double score = none;           ///< softmax probability of that class, 0 … 1
  double counted = none;         ///< number of pixels or tokens with a label, if the net classifies these
  double right = none;           ///< number of those that have the predicted class
  Image made;    ///< picture that the net gives for the row: a generated one, or the predicted class of each pixel
  Image wanted;  ///< the ideal of `made`: the label of each pixel
  std::optional<Transcript> transcript = {};  ///< the texts, if the net writes some

  /// Returns what makes this row one of the worst: the edits of words of a text, else the loss.
  double badness() const { return transcript ? static_cast<double>(transcript->words.edits) : loss; }
};

/// The sum of a loss over what counts: rows, or the terms that the loss itself counts.
struct LossSum {
  double sum = 0;
  double count = 0;  ///< the number of those rows or terms
};

/// Returns the sum of the means of several losses; NaN if nothing counts.
inline double sum_of_means(std::span<const LossSum> losses) {
  double all = 0;
  bool any = false;
  for (const auto& [sum, count] : losses)
    if (count > 0) all += sum / count, any = true;
  return any ? all : RowResult::none;
}

/// The results of a batch.
struct RowResults {
  /// The net's task: "classify", "segment" (classes of pixels), "tokens" (classes of tokens), "generate" (pictures),
  /// "transcribe" (texts), or "samples" without such results.
  std::string kind = "samples";
  /// One for each record, ordered as the batch; empty if it has no rows of this process. Records of packed rows have
  /// no results of their own.
  std::vector<RowResult> rows;
  /// The losses of the batch, whose sum the validation reports: one, except with several that count their own terms.
  std::vector<LossSum> losses;
};

/// A Validator (stages/model/validator.h) may also implement this and report single rows.
class RowValidator {
 public:
  virtual ~RowValidator() = default;
  /// Works as Validator::validate(), and returns the result of each row, with pictures for `shown` rows.
  virtual RowResults validate_rows(Slab& slab, std::span<const std::size_t> shown) = 0;
};

}  // namespace flowtrain
