#include "stages/torch/validation/row_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sampling/images/finish.h"
#include "stages/loader/slab.h"
#include "stages/torch/validation/label_logs.h"

namespace flowtrain {

namespace {

std::uint8_t level(double value) { return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0))); }

bool are_labels(const nets::NamedTensors& batch, std::int64_t dimensions) {
  if (!batch.contains("label") || batch.contains("target")) return false;
  const at::Tensor& label = batch.at("label");
  return label.dim() == dimensions && at::isIntegralType(label.scalar_type(), /*includeBool=*/false);
}

bool are_pictures(const at::Tensor& image) {
  return image.dim() == 4 && (image.size(1) == 1 || image.size(1) == 3) && image.is_floating_point();
}

// A row without labels has no loss (NaN).
at::Tensor row_losses(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& known) {
  const at::Tensor logs = label_logs(logits, labels, log_sums(logits));
  const std::int64_t rows = labels.size(0);
  return -logs.masked_fill(~known, 0).reshape({rows, -1}).sum(1) / known.reshape({rows, -1}).sum(1);
}

at::Tensor row_of(const at::Tensor& tensor, std::size_t row) {
  return tensor.select(0, static_cast<std::int64_t>(row));
}

}  // namespace

void RowReader::ask(Readout& readout, const nets::NamedTensors& outputs, const nets::NamedTensors& batch) {
  results_.rows.resize(static_cast<std::size_t>(batch.begin()->second.size(0)));
  if (outputs.contains("image") && are_pictures(outputs.at("image"))) return ask_pictures(readout, outputs.at("image"));
  const auto label = std::ranges::find(fields_, "label", &Field::name);
  if (outputs.contains("prediction") && outputs.at("prediction").dim() == 2 && label != fields_.end() &&
      label->tokenizer && are_labels(batch, 2)) {
    tokenizer_ = label->tokenizer.get();
    const at::Tensor& labels = batch.at("label");
    if (!batch.contains("label_length")) return ask_texts(readout, outputs.at("prediction"), labels);
    const at::Tensor places = at::arange(labels.size(1), labels.options());
    const at::Tensor fill = places.ge(batch.at("label_length").unsqueeze(1));  // (B, U)
    return ask_texts(readout, outputs.at("prediction"), labels.masked_fill(fill, -1));
  }
  if (!outputs.contains("logits")) return;
  const at::Tensor& logits = outputs.at("logits");
  if (logits.dim() == 2 && logits.size(1) > 1 && are_labels(batch, 1)) ask_classes(readout, logits, batch.at("label"));
  if (logits.dim() == 4 && logits.size(1) > 1 && are_labels(batch, 3))
    ask_pixel_classes(readout, logits, batch.at("label"));
  if (logits.dim() == 3 && logits.size(1) > 1 && are_labels(batch, 2) && logits.size(2) == batch.at("label").size(1) &&
      !outputs.contains("logits_length"))
    ask_token_classes(readout, logits, batch.at("label"));
}

void RowReader::ask_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels) {
  results_.kind = "classify";
  losses_ = readout.ask(row_losses(logits, labels, known_labels(logits, labels)));
  const at::Tensor prediction = logits.argmax(1);
  predictions_ = readout.ask(prediction);
  scores_ = readout.ask(logits.softmax(1, at::kFloat).gather(1, prediction.unsqueeze(1)).squeeze(1));
}

void RowReader::ask_token_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels) {
  results_.kind = "tokens";
  const at::Tensor known = known_labels(logits, labels);
  losses_ = readout.ask(row_losses(logits, labels, known));
  ask_counts(readout, known, logits.argmax(1).eq(labels));
}

void RowReader::ask_counts(Readout& readout, const at::Tensor& known, const at::Tensor& right) {
  counted_ = readout.ask(known.flatten(1).sum(1));
  right_ = readout.ask(right.logical_and(known).flatten(1).sum(1));
}

void RowReader::ask_pixel_classes(Readout& readout, const at::Tensor& logits, const at::Tensor& labels) {
  results_.kind = "segment";
  const at::Tensor known = known_labels(logits, labels), predicted = logits.argmax(1);
  losses_ = readout.ask(row_losses(logits, labels, known));
  ask_counts(readout, known, predicted.eq(labels));
  classes_ = logits.size(1);
  shape_ = {logits.size(2), logits.size(3), 1};
  for (const std::size_t row : shown_) {
    made_.push_back(readout.ask(row_of(predicted, row)));
    wanted_.push_back(readout.ask(row_of(labels, row)));
  }
}

void RowReader::ask_texts(Readout& readout, const at::Tensor& predictions, const at::Tensor& labels) {
  results_.kind = "transcribe";
  predictions_ = readout.ask(predictions);
  labels_ = readout.ask(labels);
}

Transcript RowReader::transcript_of(std::size_t row, const Readout& readout) const {
  const auto text = [&](std::size_t answer) {
    const auto all = readout[answer];
    const std::size_t width = all.size() / results_.rows.size();
    return text_of_ids(*tokenizer_, all.subspan(row * width, width));
  };
  return compared(text(labels_), text(predictions_));
}

void RowReader::ask_pictures(Readout& readout, const at::Tensor& pictures) {
  results_.kind = "generate";
  shape_ = {pictures.size(2), pictures.size(3), pictures.size(1)};
  for (const std::size_t row : shown_) made_.push_back(readout.ask(row_of(pictures, row).permute({1, 2, 0})));
}

RowResults RowReader::read(const Readout& readout) const {
  RowResults results = results_;
  const bool classifies = results.kind == "classify",
             has_losses = classifies || results.kind == "segment" || results.kind == "tokens";
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    RowResult& result = results.rows[row];
    if (tokenizer_) result.transcript = transcript_of(row, readout);
    if (has_losses) result.loss = readout[losses_][row];
    if (has_losses && !classifies) {
      result.counted = readout[counted_][row];
      result.right = readout[right_][row];
    }
    if (!classifies) continue;
    result.prediction = static_cast<std::int64_t>(readout[predictions_][row]);
    result.score = readout[scores_][row];
  }
  for (std::size_t i = 0; i < made_.size(); ++i) {
    RowResult& result = results.rows[shown_[i]];
    result.made = classes_ > 0 ? map_of(readout[made_[i]]) : picture_of(readout[made_[i]]);
    if (!wanted_.empty()) result.wanted = map_of(readout[wanted_[i]]);
  }
  return results;
}

// A pixel without a label is black.
Image RowReader::map_of(std::span<const double> values) const {
  Image map;
  map.reshape(static_cast<int>(shape_[0]), static_cast<int>(shape_[1]), 1);
  std::ranges::transform(values, map.pixels.begin(),
                         [this](double value) { return level(value * 255 / static_cast<double>(classes_ - 1)); });
  return map;
}

Image RowReader::picture_of(std::span<const double> values) const {
  Image picture;
  picture.reshape(static_cast<int>(shape_[0]), static_cast<int>(shape_[1]), static_cast<int>(shape_[2]));
  const auto channels = static_cast<std::size_t>(shape_[2]);
  const auto field =
      std::ranges::find_if(fields_, [this](auto& each) { return is_image(each) && each.shape[2] == shape_[2]; });
  const bool normalised = field != fields_.end();
  const auto mean = per_channel(normalised ? field->mean : std::vector<double>(), static_cast<int>(channels), 0),
             stddev = per_channel(normalised ? field->stddev : std::vector<double>(), static_cast<int>(channels), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    picture.pixels[i] = level(255 * (values[i] * stddev[i % channels] + mean[i % channels]));
  return picture;
}

}  // namespace flowtrain
