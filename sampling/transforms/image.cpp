// The transform `image`: a picture, cut and augmented as the sampler `classify` does it.
#include <utility>

#include "sampling/samplers/picture_cutter.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

class ImageTransform final : public Transform {
 public:
  ImageTransform(const Settings& settings, const TransformInput& input)
      : name_(input.name), from_(input.from), cut_(settings, form_of(settings, input), input.training) {}

  std::vector<Field> fields() const override { return {cut_.field(name_)}; }

  void make(const Record& record, Stream random, Row to) const override {
    if (from_.name == image_part) return cut_(record, random, to[0], to.extents());
    Record picture{.id = record.id, .encoding = Encoding::image, .bytes = part_of(record, from_).bytes};
    if (picture.bytes.empty()) throw SampleError("it has no part '" + from_.name + "'");
    cut_(picture, random, to[0], to.extents());
  }

 private:
  static StoredForm form_of(const Settings& settings, const TransformInput& input) {
    if (input.from.name == image_part) return stored_form(input.dataset);
    if (input.from.encoding != Encoding::image && input.from.encoding != Encoding::bytes)
      throw wrong_part(settings, input.from, "image files");
    return {.encoding = Encoding::image, .channels = 3};
  }

  std::string name_;
  PartForm from_;
  PictureCutters cut_;
};

}  // namespace

TransformEntry image_transform_entry() {
  return {.name = "image",
          .help = "a picture, cropped, mirrored and jittered as by the sampler classify",
          .keys = picture_keys(),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<ImageTransform>(settings, input);
          }};
}

}  // namespace flowtrain
