// The sampler `fields`: a row of the fields that [[field]] lists, each made by a transform from a part of the record.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/samplers/entries.h"
#include "sampling/transform.h"

namespace flowtrain {
namespace {

/// Returns the form of a part of the data set; the picture's has the name image_part.
PartForm form_of(const Settings& settings, const Dataset& dataset) {
  auto parts = dataset.parts();
  const std::string& name = settings.text("from");
  if (name.empty() || name == image_part) return {image_part, Encoding::image};
  const auto found = std::ranges::find(parts, name, &PartForm::name);
  if (found != parts.end()) return std::move(*found);
  std::vector<std::string> known{image_part};
  for (auto& part : parts) known.push_back(part.name);
  const auto near = nearest(name, known);
  throw settings.error("from", "the data set has no part '" + name + "'", ExitCode::usage,
                       concat(near.empty() ? "" : "did you mean '" + near + "'? ", "its parts: ", join(known)));
}

class FieldsSampler final : public Sampler {
 public:
  explicit FieldsSampler(const SamplerInput& input) {
    std::set<std::string> names;
    for (auto& settings : input.fields) {
      const auto& name = settings.text("name");
      const PartForm from = form_of(settings, input.dataset);
      transforms_.push_back(
          transforms()
              .at(settings.text("as"))
              .make(settings, {.dataset = input.dataset, .training = input.training, .name = name, .from = from}));
      fields_.push_back(transforms_.back()->field());
      if (has_lengths(fields_.back())) lengths_.push_back(length_field(fields_.back()));
      if (!names.insert(name).second)
        throw settings.error("name", "two fields are called '" + name + "'", ExitCode::usage, "rename one of them");
    }
    for (auto& field : lengths_)
      if (names.contains(field.name))
        throw UserError(ExitCode::usage, concat("field: '", field.name, "' is the name of a field that states lengths"),
                        "rename your field");
  }

  std::vector<Field> fields() const override {
    auto all = fields_;
    all.insert(all.end(), lengths_.begin(), lengths_.end());
    return all;
  }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    std::size_t first = 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      transforms_[i]->measure(record, extents.subspan(first, fields_[i].free_axes));
      first += fields_[i].free_axes;
    }
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    std::size_t length = fields_.size();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto extents = extents_of(fields_, i, row.extents());
      transforms_[i]->make(record, random, row[i], extents);
      if (has_lengths(fields_[i])) tell_lengths(i, record, extents, row[length++]);
    }
  }

 private:
  static bool has_lengths(const Field& field) { return field.free_axes > 0 && !field.sized; }

  /// Returns the field of the extents of another one's free axes: i64, a scalar for one axis.
  static Field length_field(const Field& of) {
    std::vector<std::int64_t> shape;
    if (of.free_axes > 1) shape = {static_cast<std::int64_t>(of.free_axes)};
    return {of.name + "_length", DType::i64, std::move(shape)};
  }

  void tell_lengths(std::size_t field, const Record& record, std::span<const std::int64_t> extents,
                    std::byte* to) const {
    std::array<std::int64_t, 8> own{};
    const auto lengths = std::span(own).first(extents.size());
    transforms_[field]->measure(record, lengths);
    for (std::size_t axis = 0; axis < extents.size(); ++axis) lengths[axis] = std::min(lengths[axis], extents[axis]);
    std::memcpy(to, lengths.data(), lengths.size_bytes());
  }

  std::vector<std::unique_ptr<Transform>> transforms_;
  std::vector<Field> fields_;   ///< fields of transforms_
  std::vector<Field> lengths_;  ///< one for each field whose free axes differ between records
};

}  // namespace

SamplerEntry fields_entry() {
  return {.name = "fields",
          .help = "the fields that [[field]] lists, each made from a part of the sample",
          .keys = {},
          .make = [](const Settings& settings, const SamplerInput& input) -> std::unique_ptr<Sampler> {
            if (input.fields.empty())
              throw settings.error("name", "'fields' makes the fields of [[field]], but there is none", ExitCode::usage,
                                   "add [[field]] tables, or name another sampler");
            return std::make_unique<FieldsSampler>(input);
          }};
}

}  // namespace flowtrain
