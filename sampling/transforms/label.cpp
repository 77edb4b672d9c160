// The transform `label`: the class of a record, an index from 0.
#include <cstring>
#include <utility>

#include "sampling/samplers/stored.h"
#include "sampling/shown.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

class LabelTransform final : public Transform {
 public:
  LabelTransform(const Settings& settings, const TransformInput& input)
      : field_{.name = input.name, .dtype = DType::i64, .shape = {}, .show = show_class(input.dataset.classes())},
        classes_(class_count(input.dataset, settings)) {
    field_.values = classes_;
  }

  std::vector<Field> fields() const override { return {field_}; }

  void make(const Record& record, Stream, Row to) const override {
    check_label(record.label, classes_);
    std::memcpy(to[0], &record.label, sizeof record.label);
  }

 private:
  Field field_;
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
