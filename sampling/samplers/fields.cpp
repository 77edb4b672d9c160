// The sampler `fields`: a row of the fields that [[field]] lists, each made by a transform from a part of the record.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/field_parts.h"
#include "sampling/samplers/entries.h"
#include "sampling/transform.h"

namespace flowtrain {
namespace {

class FieldsSampler final : public Sampler {
 public:
  explicit FieldsSampler(const SamplerInput& input) {
    std::set<std::string> names;
    for (auto& table : input.fields) {
      const Settings settings = input.needs_targets ? table : without_missing_targets(table, input.dataset);
      const auto& name = settings.text("name");
      const PartForm from = part_form(settings, "from", input.dataset);
      Made made{
          transforms()
              .at(settings.text("as"))
              .make(settings, {.dataset = input.dataset, .training = input.training, .name = name, .from = from})};
      auto own = made.transform->fields();
      made.fields = own.size();
      made.axes = free_axes_of(own);
      Field length = length_field_of(own.front());
      made.lacks_length = own.front().free_axes > 0 && !own.front().sized &&
                          std::ranges::find(own, length.name, &Field::name) == own.end();
      if (made.lacks_length) lengths_.push_back(std::move(length));
      made_.push_back(std::move(made));
      for (auto& field : own) {
        if (!names.insert(field.name).second)
          throw settings.error("name", "two fields are called '" + field.name + "'", ExitCode::usage,
                               "rename one of them");
        fields_.push_back(std::move(field));
      }
    }
    bounds_ = bounds_of(fields_);
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
    std::size_t axis = 0;
    for (auto& made : made_) {
      made.transform->measure(record, extents.subspan(axis, made.axes));
      axis += made.axes;
    }
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    const auto all = row.extents().empty() ? std::span<const std::int64_t>(bounds_) : row.extents();
    std::size_t axis = 0, field = 0, length = fields_.size();
    for (auto& made : made_) {
      const auto extents = all.subspan(axis, made.axes);
      made.transform->make(record, random, Row(row.fields().subspan(field, made.fields), extents, row.segment()));
      if (made.lacks_length) tell_lengths(made, fields_[field], record, extents, row[length++]);
      axis += made.axes;
      field += made.fields;
    }
  }

 private:
  /// A transform, and the number of its fields and of all their free axes.
  struct Made {
    std::unique_ptr<Transform> transform;
    std::size_t fields = 0, axes = 0;
    bool lacks_length = false;  ///< true if no field of it tells the extents of the first one's free axes
  };

  static void tell_lengths(const Made& made, const Field& field, const Record& record,
                           std::span<const std::int64_t> extents, std::byte* to) {
    std::array<std::int64_t, 8> own{};
    made.transform->measure(record, std::span(own).first(extents.size()));
    for (std::size_t axis = 0; axis < field.free_axes; ++axis) own[axis] = std::min(own[axis], extents[axis]);
    std::memcpy(to, own.data(), field.free_axes * sizeof own[0]);
  }

  std::vector<Made> made_;
  std::vector<Field> fields_;         ///< fields of all transforms
  std::vector<std::int64_t> bounds_;  ///< bounds of their free axes
  std::vector<Field> lengths_;        ///< one for each transform that lacks it
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
