#pragma once
// Lets the net of a package continue texts.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "nets/net.h"
#include "nets/package/description.h"
#include "nets/text_net.h"

namespace flowtrain::nets {

/// A TextNet without a cache: it runs the evaluation graph over the whole texts for each token, padded on the right to
/// what the graph takes, so the net must not look ahead. The graph has an input `tokens` (or `input_ids`) of integers
/// (rows, length) and an output `logits`, (rows, ids, length) or (rows, length, ids); of equal extents, the first.
/// Other inputs get what a text has of them (tokens_length, attention_mask, position, position_ids, segment), and the
/// rest, such as targets, the value that the graph ignores, or else the least one that it takes.
class PackageText final : public TextNet {
 public:
  using Run = std::function<NamedTensors(const NamedTensors&)>;
  /// Returns nothing if the graph has no such input or output. `description` outlives it; `run` computes a batch.
  static std::unique_ptr<PackageText> make(const PackageDescription& description, Run run);

  /// The number of ids is read from the logits of a first run.
  std::int64_t vocabulary() const override;
  std::int64_t length() const override { return most_; }
  std::unique_ptr<TextMemory> begin_texts(std::int64_t rows) override;
  at::Tensor continue_texts(TextMemory& memory, const at::Tensor& tokens) override;

 private:
  PackageText(const PackageDescription& description, const PackageInput& tokens, Run run);
  NamedTensors batch_of(const at::Tensor& tokens, std::int64_t length) const;
  at::Tensor input_of(const PackageInput& input, const at::Tensor& tokens, std::int64_t length) const;
  /// Returns the logits (rows, ids) that follow the last of equally long texts.
  at::Tensor logits_of(const at::Tensor& tokens) const;

  const PackageDescription& description_;
  const PackageInput& tokens_;
  const Run run_;
  std::int64_t least_ = 1, most_ = 1;  // bounds of the graph's length
  mutable std::int64_t vocabulary_ = 0;
  mutable std::int64_t along_ = 0;  // axis of the logits that is the text; 0: not seen yet
};

/// A second interface of a Net that is not a TextNet itself, but may have one.
class HasTextNet {
 public:
  virtual ~HasTextNet() = default;
  /// Returns the TextNet, which lives as long as the net; null: it has none.
  virtual TextNet* text_net() = 0;
};

/// Returns the net as one that continues texts, or the TextNet that it has; null if there is none.
inline TextNet* text_net(Net& net) {
  if (auto* const text = dynamic_cast<TextNet*>(&net)) return text;
  auto* const has = dynamic_cast<HasTextNet*>(&net);
  return has ? has->text_net() : nullptr;
}

}  // namespace flowtrain::nets
