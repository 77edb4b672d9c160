// The transform `labels`: the classes of a record that may have several, as a vector of ones and zeros (multi-hot).
#include <algorithm>
#include <cstring>
#include <utility>

#include "sampling/samplers/stored.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

class LabelsTransform final : public Transform {
 public:
  LabelsTransform(const Settings& settings, const TransformInput& input)
      : name_(input.name), from_(input.from), classes_(class_count(input.dataset, settings)) {
    if (from_.encoding != Encoding::array || from_.dtype != DType::i64 || from_.shape.size() > 1)
      throw wrong_part(settings, from_, "a list of class indices");
  }

  Field field() const override { return {name_, DType::f32, {classes_}}; }

  void make(const Record& record, Stream, std::byte* to, std::span<const std::int64_t>) const override {
    auto* const out = reinterpret_cast<float*>(to);
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
  std::string name_;
  PartForm from_;
  std::int64_t classes_;
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
