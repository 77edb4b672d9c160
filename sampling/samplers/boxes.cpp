// The sampler `boxes`: a whole picture, stretched to one size, and its boxes in rows of one length.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>
#include <vector>

#include "sampling/draw_notes.h"
#include "sampling/images/resize.h"
#include "sampling/images/stored_picture.h"
#include "sampling/samplers/area.h"
#include "sampling/samplers/entries.h"
#include "sampling/samplers/keys.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

class BoxSampler : public Sampler {
 public:
  BoxSampler(const Settings& settings, const SamplerInput& input)
      : classes_(classes_of_boxes("boxes", input)),
        objects_(settings.integer("objects")),
        flip_(input.training ? settings.real("flip") : 0),
        decoding_(decoding_of(settings)),
        mean_(settings.reals("mean")),
        stddev_(settings.reals("stddev")) {
    for (const char* key : {"mean", "stddev"})
      if (settings.reals(key).size() != 3) throw settings.error(key, "must have three values: red, green, blue");
    std::tie(height_, width_) = height_and_width(settings, "size");
  }

  std::vector<Field> fields() const override {
    return {{"image", DType::u8, {height_, width_, 3}, mean_, stddev_},
            {"boxes", DType::f32, {objects_, 4}},
            {"labels", DType::i64, {objects_}},
            {"count", DType::i64, {}}};
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    const Picture picture = whole_picture(record, decoding_);
    const bool mirrored = flip_ > 0 && random.uniform() < flip_;
    if (flip_ > 0) DrawNotes::add("mirrored", [&] { return std::vector{mirrored ? 1.0 : 0.0}; });
    resize(picture, {0, 0, 1. * picture.width, 1. * picture.height}, Filter::antialias, mirrored, height_, width_,
           reinterpret_cast<std::uint8_t*>(row[0]));
    thread_local std::vector<Box> boxes;
    boxes.clear();
    for (const Box& box : record.boxes) {
      check_label(box.label, classes_);
      const Box moved = in_input(box, picture, mirrored);
      if (!box.ignore && moved.x1 > moved.x0 && moved.y1 > moved.y0) boxes.push_back(moved);
    }
    keep_largest(boxes);
    write(boxes, row);
  }

 private:
  /// Returns the box in pixels of the input, clipped to it. A corner that is not a number stays so.
  Box in_input(Box box, const Picture& picture, bool mirrored) const {
    const auto across = static_cast<float>(width_), down = static_cast<float>(height_);
    const auto place = [](float& value, float scale, float most) { value = std::clamp(value * scale, 0.0F, most); };
    for (float* const x : {&box.x0, &box.x1}) place(*x, across / static_cast<float>(picture.width), across);
    for (float* const y : {&box.y0, &box.y1}) place(*y, down / static_cast<float>(picture.height), down);
    if (mirrored) {
      const float right = across - box.x0;
      box.x0 = across - box.x1;
      box.x1 = right;
    }
    return box;
  }

  /// Drops the smallest of more boxes than there is room for; the others stay in their order.
  void keep_largest(std::vector<Box>& boxes) const {
    const auto room = static_cast<std::size_t>(objects_);
    if (boxes.size() <= room) return;
    thread_local std::vector<std::size_t> chosen;
    chosen.resize(boxes.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    std::ranges::stable_sort(chosen, std::greater(), [&](std::size_t i) { return area_of(boxes[i]); });
    chosen.resize(room);
    std::ranges::sort(chosen);
    for (std::size_t i = 0; i < room; ++i) boxes[i] = boxes[chosen[i]];
    boxes.resize(room);
  }

  void write(const std::vector<Box>& boxes, Row row) const {
    const auto room = static_cast<std::size_t>(objects_);
    auto* corner = reinterpret_cast<float*>(row[1]);
    auto* const labels = reinterpret_cast<std::int64_t*>(row[2]);
    std::fill_n(corner, 4 * room, 0.0F);
    std::fill_n(labels, room, std::int64_t{0});
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto& [x0, y0, x1, y1, label, ignore] = boxes[i];
      for (const float value : {x0, y0, x1, y1}) *corner++ = value;
      labels[i] = label;
    }
    const auto count = static_cast<std::int64_t>(boxes.size());
    std::memcpy(row[3], &count, sizeof count);
  }

  std::int64_t classes_, objects_;
  double flip_;
  Decoding decoding_;
  std::vector<double> mean_, stddev_;
  int height_ = 0, width_ = 0;
};

}  // namespace

SamplerEntry boxes_entry() {
  return {"boxes",
          "makes a whole image, stretched to one size, and its boxes",
          {{.name = "size",
            .kind = Kind::integers,
            .fallback = std::int64_t{512},
            .help = "height and width of the image, or [height, width]",
            .min = 1,
            .max = 4096},
           {"objects", Kind::integer, std::int64_t{100},
            "number of boxes of a row; the largest are kept if there are more", 1, 65536},
           {"flip", Kind::real, 0.5, "probability of mirroring left to right in training", 0, 1},
           warnings_key(),
           exif_key("apply"),
           {"mean", Kind::reals, std::vector<double>{0.485, 0.456, 0.406},
            "means of red, green and blue, of values in 0 .. 1; the default is ImageNet's", 0, 1},
           {"stddev", Kind::reals, std::vector<double>{0.229, 0.224, 0.225},
            "standard deviations of red, green and blue", 1e-6, 1e6}},
          [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<BoxSampler>(settings, input);
          }};
}

}  // namespace flowtrain
