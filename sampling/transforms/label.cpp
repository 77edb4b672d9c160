// The transform `label`: the class of a record, an index from 0.
#include <cstring>
#include <utility>

#include "sampling/samplers/stored.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

class LabelTransform final : public Transform {
 public:
  LabelTransform(const Settings& settings, const TransformInput& input)
      : name_(input.name), classes_(class_count(input.dataset, settings)) {}

  Field field() const override { return {name_, DType::i64, {}}; }

  void make(const Record& record, Stream, std::byte* to, std::span<const std::int64_t>) const override {
    check_label(record.label, classes_);
    std::memcpy(to, &record.label, sizeof record.label);
  }

 private:
  std::string name_;
  std::int64_t classes_;
};

}  // namespace

TransformEntry label_transform_entry() {
  return {.name = "label",
          .help = "the class of the record: i64, from 0",
          .keys = {},
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<LabelTransform>(settings, input);
          }};
}

}  // namespace flowtrain
