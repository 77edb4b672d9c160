#include "nets/package/package_text.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "sampling/core/text.h"

namespace flowtrain::nets {
namespace {

/// The tokens so far, as there is no cache.
struct Tokens final : TextMemory {
  explicit Tokens(std::int64_t count) : rows(count) {}
  std::int64_t rows;
  at::Tensor all = {};  ///< (rows, length); undefined at first
};

const PackageInput* input_called(const PackageDescription& description, const std::string& name) {
  const auto found =
      std::ranges::find_if(description.inputs, [&](const PackageInput& input) { return input.field.name == name; });
  return found == description.inputs.end() ? nullptr : &*found;
}

bool is_integer(const PackageInput& input) { return input.field.dtype == "int64" || input.field.dtype == "int32"; }

at::ScalarType type_of(const PackageInput& input) {
  const std::string& name = input.field.dtype;
  if (name == "int64") return at::kLong;
  if (name == "int32") return at::kInt;
  if (name == "uint8") return at::kByte;
  if (name == "bool") return at::kBool;
  return at::kFloat;
}

/// Returns the value of an input that has nothing to do with the text.
std::int64_t idle_value(const PackageInput& input) {
  if (input.values.empty()) return 0;
  const auto& values = input.values.front();
  return values.ignored.value_or(values.least);
}

}  // namespace

std::unique_ptr<PackageText> PackageText::make(const PackageDescription& description, Run run) {
  const PackageInput* tokens = input_called(description, "tokens");
  if (!tokens) tokens = input_called(description, "input_ids");
  const auto& outputs = description.eval.outputs;
  const auto logits = std::ranges::find(outputs, std::string("logits"), &PackageOutput::name);
  if (!tokens || tokens->field.shape.size() != 2 || !is_integer(*tokens) || logits == outputs.end()) return nullptr;
  return std::unique_ptr<PackageText>(new PackageText(description, *tokens, std::move(run)));
}

PackageText::PackageText(const PackageDescription& description, const PackageInput& tokens, Run run)
    : description_(description), tokens_(tokens), run_(std::move(run)) {
  const auto free = std::ranges::find(tokens.free, std::size_t{1}, &PackageInput::FreeAxis::axis);
  if (free == tokens.free.end())
    least_ = most_ = tokens.field.shape[1];
  else
    least_ = free->least, most_ = free->most;
}

std::int64_t PackageText::vocabulary() const {
  if (vocabulary_ == 0) {
    const at::Device where = description_.device == "cuda" ? at::kCUDA : at::kCPU;
    vocabulary_ = logits_of(at::full({1, 1}, idle_value(tokens_), at::TensorOptions(at::kLong).device(where))).size(1);
  }
  return vocabulary_;
}

std::unique_ptr<TextMemory> PackageText::begin_texts(std::int64_t rows) { return std::make_unique<Tokens>(rows); }

at::Tensor PackageText::continue_texts(TextMemory& memory, const at::Tensor& tokens) {
  auto& texts = dynamic_cast<Tokens&>(memory);
  static_cast<void>(vocabulary());  // a short text shows which axis is which
  texts.all = texts.all.defined() ? at::cat({texts.all, tokens}, 1) : tokens;
  if (texts.all.size(1) > most_)
    throw std::invalid_argument(concat("a text of ", texts.all.size(1), " tokens: the net takes ", most_, " at most"));
  return logits_of(texts.all);
}

at::Tensor PackageText::input_of(const PackageInput& input, const at::Tensor& tokens, std::int64_t length) const {
  const std::string& name = input.field.name;
  const std::int64_t rows = tokens.size(0), padded = tokens.size(1);
  const auto options = tokens.options().dtype(type_of(input));
  std::vector<std::int64_t> shape{rows};
  for (std::size_t axis = 1; axis < input.field.shape.size(); ++axis) {
    const auto free = std::ranges::find(input.free, axis, &PackageInput::FreeAxis::axis);
    const bool follows = free != input.free.end() && !tokens_.free.empty() && free->extent == tokens_.free[0].extent;
    shape.push_back(follows ? padded : free != input.free.end() ? free->least : input.field.shape[axis]);
  }
  const bool is_along = shape.size() == 2 && shape[1] == padded;
  if (&input == &tokens_) return tokens.to(type_of(input));
  if (name == tokens_.field.name + "_length" && shape.size() == 1) return at::full(shape, length, options);
  if (is_along && (name == "position" || name == "position_ids"))
    return at::arange(padded, options).unsqueeze(0).expand(shape).contiguous();
  if (is_along && (name == "segment" || name == "attention_mask"))
    return (at::arange(padded, tokens.options()) < length).to(options.dtype()).unsqueeze(0).expand(shape).contiguous();
  return at::full(shape, idle_value(input), options);
}

NamedTensors PackageText::batch_of(const at::Tensor& tokens, std::int64_t length) const {
  NamedTensors batch;
  for (const PackageInput& input : description_.inputs) batch.add(input.field.name, input_of(input, tokens, length));
  return batch;
}

at::Tensor PackageText::logits_of(const at::Tensor& tokens) const {
  const std::int64_t length = tokens.size(1), padded = std::max(length, least_);
  const std::int64_t fixed = tokens_.field.shape[0], rows = tokens.size(0), at_once = fixed > 0 ? fixed : rows;
  const at::Tensor ids = at::constant_pad_nd(tokens, {0, padded - length}, at::Scalar(idle_value(tokens_)));
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const std::int64_t count = std::min(at_once, rows - first);
    const at::Tensor some = ids.narrow(0, first, count);
    const at::Tensor filled = at::constant_pad_nd(some, {0, 0, 0, at_once - count}, at::Scalar(idle_value(tokens_)));
    const NamedTensors outputs = run_(batch_of(filled.contiguous(), length));
    const at::Tensor& logits = outputs.at("logits");
    if (logits.dim() != 3 || (logits.size(2) != padded && logits.size(1) != padded))
      throw std::invalid_argument(c10::str("its logits have the shape ", logits.sizes(), " for texts of ", padded,
                                           " tokens: expected (rows, ids, tokens)"));
    if (along_ == 0) along_ = logits.size(2) == padded ? 2 : 1;
    parts.push_back(logits.narrow(0, 0, count).select(along_, length - 1).to(at::kFloat));
  }
  return at::cat(parts);
}

}  // namespace flowtrain::nets
