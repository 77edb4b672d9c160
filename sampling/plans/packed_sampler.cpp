#include "sampling/plans/packed_sampler.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/shown.h"

namespace flowtrain {
namespace {

constexpr std::size_t most_row_fields = 32;

/// Shows runs of numbers: "0–39, 0–30" of those that rise by 1, "1 × 40, 2 × 31" of equal ones.
template <std::int32_t step>
Shown show_runs(const Field&, std::span<const std::byte> value) {
  std::vector<std::int32_t> numbers(value.size() / sizeof(std::int32_t));
  std::memcpy(numbers.data(), value.data(), value.size());
  std::string text;
  for (std::size_t begin = 0, end; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + step;) ++end;
    text += concat(begin == 0 ? "" : ", ", numbers[begin]);
    if (end > begin + 1) text += step == 1 ? concat("–", numbers[end - 1]) : concat(" × ", end - begin);
  }
  return {shown_text(text)};
}

class PackedSampler final : public Sampler {
 public:
  explicit PackedSampler(std::unique_ptr<Sampler> sampler) : sampler_(std::move(sampler)), inner_(sampler_->fields()) {
    for (auto& field : inner_)
      if (!states_length(field)) add(field);
    if (fields_.empty()) throw refusal("no field has a free axis");
    fields_.push_back({.name = position_field, .dtype = DType::i32, .shape = {length_}, .show = show_runs<1>});
    fields_.push_back({.name = segment_field, .dtype = DType::i32, .shape = {length_}, .show = show_runs<0>});
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    sampler_->measure(record, extents);
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    std::array<std::byte*, most_row_fields> starts;
    std::array<std::int64_t, most_row_fields> extents, lengths;
    const std::int64_t extent = row.extents()[0];
    std::size_t own = 0, axis = 0;
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      starts[i] = states_length(inner_[i]) ? reinterpret_cast<std::byte*>(&lengths[i]) : row[own++];
      if (inner_[i].free_axes > 0) extents[axis++] = extent;
    }
    sampler_->measure(record, std::span(lengths).first(axis));
    if (std::ranges::any_of(std::span(lengths).first(axis), [&](auto each) { return each != lengths[0]; }))
      throw SampleError(
          concat("the fields of a packed row have different lengths in it: ", join(std::span(lengths).first(axis))));
    const std::int64_t measured = std::min(lengths[0], extent);
    sampler_->sample(record, random, Row({starts.data(), inner_.size()}, std::span(extents).first(axis)));
    const std::int64_t length = length_of(lengths, measured);
    auto* const position = reinterpret_cast<std::int32_t*>(row[own]);
    auto* const segment = reinterpret_cast<std::int32_t*>(row[own + 1]);
    for (std::int64_t i = 0; i < extent; ++i) {
      position[i] = i < length ? static_cast<std::int32_t>(i) : 0;
      segment[i] = i < length ? row.segment() : 0;
    }
  }

 private:
  static UserError refusal(const std::string& what) {
    return UserError(ExitCode::usage, "loader.pack: " + what + "; records can be packed only along a free axis",
                     "leave out that field, or loader.pack");
  }

  /// Returns whether a field says how long another one is.
  bool states_length(const Field& field) const {
    return field.free_axes == 0 && std::ranges::any_of(inner_, [&](auto& other) {
             return other.free_axes > 0 && field.name == other.name + "_length";
           });
  }

  /// Returns the length that the fields of a row state, which may be shorter than the one that was measured; that one
  /// if none does.
  std::int64_t length_of(std::span<const std::int64_t> lengths, std::int64_t measured) const {
    std::optional<std::int64_t> stated;
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      if (!states_length(inner_[i])) continue;
      if (stated && *stated != lengths[i])
        throw SampleError(concat("the fields of a packed row state different lengths of it: ", *stated, " and ",
                                 lengths[i], " (", inner_[i].name, ")"));
      stated = lengths[i];
    }
    return std::min(stated.value_or(measured), measured);
  }

  void add(Field field) {
    if (field.free_axes != 1)
      throw refusal(concat("the field '", field.name, "' has ", field.free_axes == 0 ? "no free axis" : "two of them"));
    if (length_ != 0 && field.shape[0] != length_)
      throw refusal(
          concat("the field '", field.name, "' has room for ", field.shape[0], ", another one for ", length_));
    length_ = field.shape[0];
    field.free_axes = 0;
    fields_.push_back(std::move(field));
  }

  std::unique_ptr<Sampler> sampler_;
  std::vector<Field> inner_, fields_;
  std::int64_t length_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> with_packed_rows(std::unique_ptr<Sampler> sampler) {
  return std::make_unique<PackedSampler>(std::move(sampler));
}

}  // namespace flowtrain
