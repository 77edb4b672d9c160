#include "pipeline/inference/predict/token_predictions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/shown.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {

namespace {

using Numbers = std::vector<std::int64_t>;

// The fields of a row, and their values as numbers.
class TokenRow {
 public:
  TokenRow(const Slab& slab, std::size_t row) : slab_(slab), work_(slab.rows()[row]), fields_(slab.layout().fields()) {
    for (std::size_t i = 0; i < fields_.size(); ++i) values_.push_back(slab.bytes_of(work_, i));
  }

  // Returns the numbers of a field; none if there is no such field, or if it has no i64.
  Numbers numbers(const std::string& name) const {
    const auto found = std::ranges::find(fields_, name, &Field::name);
    if (found == fields_.end() || found->dtype != DType::i64) return {};
    const auto bytes = values_[static_cast<std::size_t>(found - fields_.begin())];
    Numbers numbers(bytes.size() / sizeof(std::int64_t));
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  // Returns the ids of the row's tokens, without padding.
  Numbers ids(const std::string& name) const {
    Numbers all = numbers(name);
    if (const auto length = numbers(name + "_length"); length.size() == 1)
      all.resize(std::min(all.size(), static_cast<std::size_t>(std::max<std::int64_t>(length[0], 0))));
    return all;
  }

  // Returns a field as a line of text, with these numbers in place of its own.
  std::string shown(std::size_t field, const Numbers& numbers) const {
    auto values = values_;
    values[field] = std::as_bytes(std::span(numbers));
    for (auto& [name, shown] : show_row(fields_, slab_.extents(), values))
      if (name == fields_[field].name) return shown.text;
    return {};
  }

 private:
  const Slab& slab_;
  const RowWork& work_;
  const std::vector<Field>& fields_;
  std::vector<std::span<const std::byte>> values_;
};

// Returns a function that shows single values of a field: an id as its piece of text.
auto shown_values_of(Field field) {
  field.shape = {1};
  field.free_axes = 0;
  if (field.tokenizer) field.show = show_ids(field.tokenizer);
  return
      [field = std::move(field)](std::int64_t value) { return show(field, std::as_bytes(std::span(&value, 1))).text; };
}

}  // namespace

std::optional<std::size_t> token_field_of(std::span<const Field> fields) {
  auto found = std::ranges::find(fields, "label", &Field::name);
  if (found == fields.end()) found = std::ranges::find(fields, "tokens", &Field::name);
  if (found == fields.end() || found->dtype != DType::i64 || found->shape.size() != 1 || found->free_axes != 1)
    return {};
  return static_cast<std::size_t>(found - fields.begin());
}

void add_tokens(const Slab& slab, std::size_t row, std::size_t field, const Logits& logits, Prediction& prediction) {
  const auto& fields = slab.layout().fields();
  const Field& target = fields[field];
  const TokenRow own(slab, row);
  const Numbers labels = own.numbers(target.name), words = own.numbers(words_field);
  if (logits.length != labels.size())
    throw UserError(
        ExitCode::usage,
        concat("the net gives `logits` of ", logits.length, " tokens, but '", target.name, "' has ", labels.size()),
        "use it with a net that gives logits for each token");
  const auto encoded = std::ranges::find_if(fields, [](auto& each) { return each.tokenizer != nullptr; });
  const Numbers ids = encoded == fields.end() ? Numbers() : own.ids(encoded->name);
  const std::size_t length = target.name == "label" ? labels.size() : own.ids(target.name).size();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < length; ++i)
    if (words.empty() ? labels[i] >= 0 : words[i] >= 0) places.push_back(i);

  const auto name_of = shown_values_of(target);
  const auto of_row = [&](const auto& values) { return std::span(values).subspan(row * logits.length, logits.length); };
  const auto best = of_row(logits.best);
  const auto scores = of_row(logits.scores), label_logs = of_row(logits.label_logs);
  Numbers predicted(labels.size(), no_label);
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t at = places[i], end = i + 1 < places.size() ? places[i + 1] : ids.size();
    predicted[at] = best[at];
    TokenPrediction token{.name = name_of(best[at]), .label = best[at], .score = scores[at]};
    if (words.empty())
      token.text = name_of(labels[at]);
    else if (encoded != fields.end() && at < end && end <= ids.size())
      token.text = text_of_word(*encoded->tokenizer, std::span(ids).subspan(at, end - at));
    if (!std::isnan(label_logs[at])) {
      token.probability = std::exp(label_logs[at]);
      sum -= label_logs[at];
      ++known;
    }
    prediction.tokens.push_back(std::move(token));
  }
  if (known > 0) prediction.perplexity = std::exp(sum / static_cast<double>(known));
  prediction.shown = own.shown(field, predicted);
}

}  // namespace flowtrain
