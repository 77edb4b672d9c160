// Metrics of nets that give a sequence: `prediction` (B, T) against `target` (B, U), each ended by its first negative
// value, and by `target_length` (B), if the batch has it. error_rate (V. I. Levenshtein, 1966) may exceed 1. Spans
// consist of tags: 0 is outside, 2k - 1 begins a span of kind k, and 2k continues it; a 2k without a span of its kind
// before it begins one, as in conlleval (E. F. Tjong Kim Sang, S. Buchholz, CoNLL-2000). A span is correct if begin,
// end and kind are; tags after the target's end do not count. wer and cer compare `prediction` with `label`, both as
// texts of the label's tokenizer, as jiwer 4 does (sampling/tokens/edits.h). Nets that give no `prediction` have spans
// of their largest `logits` (B, K, T) against `label` (B, T): positions without a label are left out, and each document
// of a packed row (`segment`) is a sequence of its own.

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>

#include "nets/labels.h"
#include "nets/metrics/metric.h"
#include "sampling/core/mistake.h"
#include "sampling/sampler.h"
#include "sampling/tokens/edits.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using Tokens = std::span<const std::int64_t>;

/// The rows of an output or field (B, T), on the host.
class Sequences {
 public:
  Sequences(const NamedTensors& tensors, const std::string& name) {
    const at::Tensor& given = tensors.at(name);
    if (given.dim() != 2 || !at::isIntegralType(given.scalar_type(), /*includeBool=*/false)) {
      throw std::invalid_argument(
          c10::str(name, " has shape ", given.sizes(), " of ", given.scalar_type(), ", expected (B, T) of integers"));
    }
    values_ = given.to(at::kCPU, at::kLong).contiguous();
    const std::string length = name + "_length";  // other values of a row fill it up, whatever they are
    lengths_ = tensors.contains(length) ? tensors.at(length).to(at::kCPU, at::kLong).clamp(0, values_.size(1))
                                        : at::full({size()}, values_.size(1), at::kLong);
    if (lengths_.dim() != 1 || lengths_.size(0) != size())
      throw std::invalid_argument(c10::str(length, " has shape ", lengths_.sizes(), ", expected (", size(), ")"));
    lengths_ = lengths_.contiguous();
  }

  std::int64_t size() const { return values_.size(0); }
  Tokens operator[](std::int64_t row) const {
    const Tokens all(values_.const_data_ptr<std::int64_t>() + row * values_.size(1),
                     static_cast<std::size_t>(lengths_.const_data_ptr<std::int64_t>()[row]));
    const auto end = std::find_if(all.begin(), all.end(), [](std::int64_t token) { return token < 0; });
    return {all.begin(), end};
  }

 private:
  at::Tensor values_, lengths_;
};

/// Calls `compare` with the predicted and the true labels of each sequence: those at the positions that have a label.
template <class Compare>
void compare_labels(const NamedTensors& outputs, const NamedTensors& batch, Compare compare) {
  const at::Tensor &logits = outputs.at("logits"), &label = batch.at("label");
  check_labels(logits, label);
  if (label.dim() != 2) throw std::invalid_argument(c10::str("label has shape ", label.sizes(), ", expected (B, T)"));
  const auto on_host = [](const at::Tensor& values) { return values.to(at::kCPU, at::kLong).contiguous(); };
  const at::Tensor found = on_host(logits.argmax(1)), known = on_host(label),
                   segment = batch.contains("segment") ? on_host(batch.at("segment")) : at::Tensor();
  const auto of_row = [&](const at::Tensor& values, std::int64_t row) {
    return values.const_data_ptr<std::int64_t>() + row * label.size(1);
  };
  for (std::int64_t row = 0; row < label.size(0); ++row) {
    std::vector<std::int64_t> prediction, target;
    const auto end_sequence = [&] {
      compare(Tokens(prediction), Tokens(target));
      prediction.clear();
      target.clear();
    };
    for (std::int64_t i = 0; i < label.size(1); ++i) {
      if (segment.defined() && i > 0 && of_row(segment, row)[i] != of_row(segment, row)[i - 1]) end_sequence();
      if (of_row(known, row)[i] < 0) continue;
      prediction.push_back(of_row(found, row)[i]);
      target.push_back(of_row(known, row)[i]);
    }
    end_sequence();
  }
}

/// Sums over pairs of sequences.
template <std::size_t Totals>
class SequenceMetric : public Metric {
 public:
  explicit SequenceMetric(std::string field = "target") : field_(std::move(field)) {}
  std::vector<MetricInputs> inputs() const override { return {{"prediction", field_, field_ == "label" ? 1u : 0u}}; }

  void update(const NamedTensors& outputs, const NamedTensors& batch) override {
    const Sequences predictions(outputs, "prediction"), targets(batch, field_);
    if (predictions.size() != targets.size())
      throw std::invalid_argument(
          c10::str("prediction has ", predictions.size(), " rows, but ", field_, " has ", targets.size()));
    for (std::int64_t row = 0; row < targets.size(); ++row) compare(predictions[row], targets[row], totals_);
  }
  std::vector<double> totals() const final { return {totals_.begin(), totals_.end()}; }
  void reset() final { totals_ = {}; }

 protected:
  virtual void compare(Tokens prediction, Tokens target, std::array<double, Totals>& totals) = 0;

  std::array<double, Totals> totals_{};

 private:
  const std::string field_;
};

class ErrorRate final : public SequenceMetric<2> {
 public:
  std::vector<double> scalars(const std::vector<double>& totals) const override {
    return {totals[1] > 0 ? totals[0] / totals[1] : std::nan("")};
  }

 private:
  void compare(Tokens prediction, Tokens target, std::array<double, 2>& totals) override {
    const EditCount count = count_edits(target, prediction);
    totals[0] += static_cast<double>(count.edits);
    totals[1] += static_cast<double>(count.length);
  }
};

/// Totals: edits, length of the references, rows. Without any word in the references it is the number of edits.
class TextErrorRate final : public SequenceMetric<3> {
 public:
  using Count = EditCount (*)(std::string_view reference, std::string_view hypothesis);
  TextErrorRate(Count count, const MetricInput& input) : SequenceMetric<3>("label"), count_(count) {
    const auto label = std::ranges::find(input.fields, "label", &Field::name);
    if (label != input.fields.end()) tokenizer_ = label->tokenizer;
    if (!tokenizer_)
      throw Mistake("'" + input.name + "' compares texts, and the field 'label' has no tokenizer",
                    "make it of texts: [[field]] name = \"label\", as = \"tokens\"; error_rate compares numbers");
  }

  std::vector<double> scalars(const std::vector<double>& totals) const override {
    const double edits = totals[0], length = totals[1], rows = totals[2];
    return {rows > 0 ? edits / std::max(length, 1.0) : std::nan("")};
  }

 private:
  void compare(Tokens prediction, Tokens label, std::array<double, 3>& totals) override {
    const EditCount count = count_(text_of_ids(*tokenizer_, label), text_of_ids(*tokenizer_, prediction));
    totals[0] += static_cast<double>(count.edits);
    totals[1] += static_cast<double>(count.length);
    ++totals[2];
  }

  Count count_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

auto make_text_rate(TextErrorRate::Count count) {
  return [count](const Settings&, const MetricInput& input) { return std::make_unique<TextErrorRate>(count, input); };
}

/// The begin, end (exclusive) and kind of a span.
using TagSpan = std::tuple<std::size_t, std::size_t, std::int64_t>;

/// Returns the spans, sorted by their begin.
std::vector<TagSpan> spans_of(Tokens tags) {
  std::vector<TagSpan> spans;
  std::int64_t open = 0;  // kind of the span under way
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::int64_t kind = (tags[i] + 1) / 2;
    if (kind > 0 && (tags[i] % 2 == 1 || kind != open)) spans.emplace_back(i, i, kind);
    if (kind > 0) std::get<1>(spans.back()) = i + 1;
    open = kind;
  }
  return spans;
}

enum class SpanStat { precision, recall, f1 };

class Spans final : public SequenceMetric<3> {
 public:
  explicit Spans(SpanStat scalar) : scalar_(scalar) {}

  std::vector<MetricInputs> inputs() const override {
    return {{"prediction", "target"}, {"logits", "label", /*axes=*/1}};
  }
  void update(const NamedTensors& outputs, const NamedTensors& batch) override {
    const bool has_sequences = outputs.contains("prediction") && batch.contains("target");
    if (has_sequences || !outputs.contains("logits")) return SequenceMetric::update(outputs, batch);
    compare_labels(outputs, batch, [&](Tokens prediction, Tokens target) { compare(prediction, target, totals_); });
  }

  std::vector<double> scalars(const std::vector<double>& totals) const override {
    const double right = totals[0], found = totals[1], true_ones = totals[2];
    const double whole = whole_of(found, true_ones);
    return {whole > 0 ? right / whole : 0};
  }

 private:
  double whole_of(double found, double true_ones) const {
    if (scalar_ == SpanStat::precision) return found;
    return scalar_ == SpanStat::recall ? true_ones : (found + true_ones) / 2;
  }

  void compare(Tokens prediction, Tokens target, std::array<double, 3>& totals) override {
    const auto found = spans_of(prediction.first(std::min(prediction.size(), target.size()))),
               true_ones = spans_of(target);
    std::vector<TagSpan> right;
    std::set_intersection(found.begin(), found.end(), true_ones.begin(), true_ones.end(), std::back_inserter(right));
    totals[0] += static_cast<double>(right.size());
    totals[1] += static_cast<double>(found.size());
    totals[2] += static_cast<double>(true_ones.size());
  }

  SpanStat scalar_;
};

auto make_spans(SpanStat scalar) {
  return [scalar](const Settings&, const MetricInput&) { return std::make_unique<Spans>(scalar); };
}

}  // namespace
#endif

FLOWTRAIN_PARTS(sequence_metrics) {
  parts.metrics.add({"error_rate",
                     "number of tokens to insert, remove and replace to get the target, divided by the target's tokens",
                     {},
                     FLOWTRAIN_MAKE([](const Settings&, const MetricInput&) { return std::make_unique<ErrorRate>(); }),
                     {.lower_is_better = true}});
  parts.metrics.add(
      {"wer",
       "word error rate: words to insert, remove and replace to get the label's text, divided by its words",
       {},
       FLOWTRAIN_MAKE(make_text_rate(word_edits)),
       {.lower_is_better = true}});
  parts.metrics.add({"cer",
                     "character error rate: the same with characters, spaces included",
                     {},
                     FLOWTRAIN_MAKE(make_text_rate(character_edits)),
                     {.lower_is_better = true}});
  parts.metrics.add(
      {"span_precision", "precision of spans of tags", {}, FLOWTRAIN_MAKE(make_spans(SpanStat::precision))});
  parts.metrics.add({"span_recall", "recall of spans of tags", {}, FLOWTRAIN_MAKE(make_spans(SpanStat::recall))});
  parts.metrics.add({"span_f1", "F1 of spans of tags", {}, FLOWTRAIN_MAKE(make_spans(SpanStat::f1))});
}

}  // namespace flowtrain::nets
