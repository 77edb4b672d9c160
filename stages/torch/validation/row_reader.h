#pragma once
// Turns the outputs of a batch into results of single rows, for people to look at.

#include <cstddef>
#include <span>
#include <vector>

#include "nets/tensors.h"
#include "sampling/sampler.h"
#include "stages/model/row_results.h"
#include "stages/torch/readout.h"

namespace flowtrain {

/// Reads the results of one batch's rows, together with the rest that is read of the batch. `logits` (B, K) with
/// `label` (B) are classes, (B, K, L) without `logits_length` and with `label` (B, L) classes of tokens, (B, K, H, W)
/// with `label` (B, H, W) classes of pixels, which become grey levels from 0 to 255; `prediction` (B, N) with `label`
/// (B, U) of a tokenizer are texts; `image` (B, C, H, W) is a picture for each row, normalised as the batch's.
class RowReader {
 public:
  /// `fields` are the batch's; `shown` are the rows whose pictures are read. Both outlive it.
  RowReader(std::span<const Field> fields, std::span<const std::size_t> shown) : fields_(fields), shown_(shown) {}

  /// Asks for them. The tensors are on any one device.
  void ask(Readout& readout, const nets::NamedTensors& outputs, const nets::NamedTensors& batch);
  /// Reads them, after readout.fetch().
  RowResults read(const Readout& readout) const;

 private:
  void ask_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels);
  void ask_token_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels);
  /// Asks how many labels count in each row, and how many of them are right.
  void ask_counts(Readout& readout, const at::Tensor& known, const at::Tensor& right);
  void ask_pixel_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels);
  void ask_texts(Readout& readout, const at::Tensor& predictions, const at::Tensor& labels);
  Transcript transcript_of(std::size_t row, const Readout& readout) const;
  void ask_pictures(Readout& readout, const at::Tensor& pictures);
  Image map_of(std::span<const double> values) const;
  Image picture_of(std::span<const double> values) const;

  std::span<const Field> fields_;
  std::span<const std::size_t> shown_;
  RowResults results_;  // the kind and number of rows are set
  // The answers of the readout.
  std::size_t losses_ = 0, predictions_ = 0, labels_ = 0, scores_ = 0, counted_ = 0, right_ = 0;
  std::vector<std::size_t> made_, wanted_;  // answers, one for each row that is shown
  std::vector<std::int64_t> shape_;         // height, width and channels of a picture that the net gives
  std::int64_t classes_ = 0;                // the number of classes that pixels have
  const Tokenizer* tokenizer_ = nullptr;    // reads the field `label`, if rows are texts
};

}  // namespace flowtrain
