#include "pipeline/tools/plugin_kit/templates.h"

namespace flowtrain::plugin_kit {

const char* const template_cpp =
    R"file(// @NAME@: a sampler for flowtrain. It draws where the boxes of a picture are: 255 inside a box,
// 0 outside. In training the mask is mirrored at random.
#include <algorithm>
#include <cstring>

#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

// It does not change after its construction: threads share it.
class Mask : public plugin::Sampler {
 public:
  explicit Mask(const plugin::Create& create)
      : size_(create.integer("size")),
        picture_(create.real("picture")),
        flip_(create.training() ? create.real("flip") : 0) {
    if (size_ < 1 || size_ > 4096) throw plugin::Error("size must be 1 to 4096");
    if (!(picture_ > 0)) throw plugin::Error("picture must be above 0");
  }

  // The fields of a row: image u8 (size, size, 1), and label i64.
  std::vector<ft_field> fields() const override {
    return {plugin::field("image", FT_U8, {size_, size_, 1}), plugin::field("label", FT_I64, {})};
  }

  // Makes one row. For a record that cannot be used, `throw plugin::Error("the reason")`.
  void sample(const ft_record& record, plugin::Random& random, std::span<std::uint8_t* const> rows) const override {
    const bool mirrored = flip_ > 0 && random.uniform() < flip_;
    const double cell = picture_ / static_cast<double>(size_);
    std::uint8_t* image = rows[0];
    for (long long y = 0; y < size_; ++y, image += size_) {
      for (long long x = 0; x < size_; ++x) {
        const double center_x = (static_cast<double>(x) + 0.5) * cell, center_y = (static_cast<double>(y) + 0.5) * cell;
        image[x] = is_inside(record, center_x, center_y) ? 255 : 0;
      }
      if (mirrored) std::reverse(image, image + size_);
    }
    std::memcpy(rows[1], &record.label, sizeof record.label);
  }

 private:
  static bool is_inside(const ft_record& record, double x, double y) {
    return std::any_of(record.boxes, record.boxes + record.boxes_count, [&](const ft_box& box) {
      return x >= box.x0 && x < box.x1 && y >= box.y0 && y < box.y1;
    });
  }

  long long size_;
  double picture_, flip_;
};

}  // namespace

// After the name and the help come the keys of [sampler].
FLOWTRAIN_SAMPLER_PLUGIN(Mask, "@NAME@", "a mask of where the boxes of a picture are",
                         {"size", FT_INTEGER, "16", "height and width of the mask, 1 to 4096"},
                         {"picture", FT_REAL, "32.0", "height and width of the stored pictures, in pixels"},
                         {"flip", FT_REAL, "0.5", "training: probability of mirroring left to right"})
)file";

}  // namespace flowtrain::plugin_kit
