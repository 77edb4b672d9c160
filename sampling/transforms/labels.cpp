// The transform `labels`: the classes of a record that may have several, as a vector of ones and zeros (multi-hot).
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/samplers/stored.h"
#include "sampling/shown.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

class LabelsTransform final : public Transform {
 public:
  LabelsTransform(const Settings& settings, const TransformInput& input)
      : from_(input.from),
        classes_(class_count(input.dataset, settings)),
        field_{.name = input.name, .dtype = DType::f32, .shape = {classes_}, .show = show_classes(input)} {
    if (from_.encoding != Encoding::array || from_.dtype != DType::i64 || from_.shape.size() > 1)
      throw wrong_part(settings, from_, "a list of class indices");
  }

  std::vector<Field> fields() const override { return {field_}; }

  void make(const Record& record, Stream, Row to) const override {
    auto* const out = reinterpret_cast<float*>(to[0]);
    std::fill_n(out, classes_, 0.0F);
    const Part& part = part_of(record, from_);
    for (std::size_t at = 0; at < part.bytes.size(); at += sizeof(std::int64_t)) {
      std::int64_t label = 0;
      std::memcpy(&label, part.bytes.data() + at, sizeof label);
      check_label(label, classes_);
      out[label] = 1;
    }
  }

 private:
  /// Returns the view that names the classes of the ones.
  static ShowValue show_classes(const TransformInput& input) {
    return [names = std::make_shared<const std::vector<std::string>>(input.dataset.classes())](
               const Field&, std::span<const std::byte> value) -> Shown {
      std::vector<std::string> own;
      for (std::size_t label = 0; label < names->size(); ++label) {
        float has = 0;
        std::memcpy(&has, value.data() + label * sizeof has, sizeof has);
        if (has > 0) own.push_back((*names)[label]);
      }
      return {own.empty() ? "(none)" : shown_text(join(own))};
    };
  }

  PartForm from_;
  std::int64_t classes_;
  Field field_;
};

}  // namespace

TransformEntry labels_transform_entry() {
  return {.name = "labels",
          .help = "the classes of a record that may have several: f32 (classes), 1 for each that it has, else 0",
          .keys = {},
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<LabelsTransform>(settings, input);
          }};
}

}  // namespace flowtrain
