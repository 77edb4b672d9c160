// The sampler `classify`: an image, augmented as is usual for classification, and its class.
#include <cstring>

#include "sampling/samplers/entries.h"
#include "sampling/samplers/picture_cutter.h"
#include "sampling/samplers/stored.h"
#include "sampling/shown.h"

namespace flowtrain {
namespace {

class ClassifySampler : public Sampler {
 public:
  ClassifySampler(const Settings& settings, const SamplerInput& input)
      : classes_(class_count(input.dataset, settings)),
        label_{.name = "label", .dtype = DType::i64, .shape = {}, .show = show_class(input.dataset.classes())},
        cut_(settings, stored_form(input.dataset), input.training) {}

  std::vector<Field> fields() const override { return {cut_.field("image"), label_}; }

  void sample(const Record& record, Stream& random, Row row) const override {
    check_label(record.label, classes_);
    cut_(record, random, row[0], row.extents());
    std::memcpy(row[1], &record.label, sizeof record.label);
  }

 private:
  std::int64_t classes_;
  Field label_;
  PictureCutters cut_;
};

}  // namespace

SamplerEntry classify_entry() {
  return {"classify", "image and class, cropped, mirrored and jittered as usual", picture_keys(),
          [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<ClassifySampler>(settings, input);
          }};
}

}  // namespace flowtrain
