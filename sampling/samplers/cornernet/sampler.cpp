// The samplers `cornernet` (CornerNet and CornerNet-Squeeze) and `cornernet_saccade`.
#include <array>
#include <cstring>

#include "sampling/images/stored_picture.h"
#include "sampling/samplers/cornernet/color.h"
#include "sampling/samplers/cornernet/targets.h"
#include "sampling/samplers/entries.h"
#include "sampling/samplers/keys.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

class CornerSampler : public Sampler {
 public:
  CornerSampler(const CornerOptions& options, const Decoding& decoding) : options_(options), decoding_(decoding) {}

  std::vector<Field> fields() const override {
    const auto& [height, width] = options_.input_size;
    const std::int64_t objects = options_.max_objects;
    std::vector<Field> fields{{"image", DType::f32, {height, width, 3}},  // blue first, normalised
                              {"gaussians", DType::i32, {gaussians_of(options_), std::tuple_size_v<GaussianTarget>}},
                              {"mask", DType::u8, {objects}},
                              {"tl_off", DType::f32, {objects, 2}},
                              {"br_off", DType::f32, {objects, 2}},
                              {"tl_ind", DType::i64, {objects}},
                              {"br_ind", DType::i64, {objects}},
                              {"untagged", DType::i32, {}},
                              {"cells", DType::i32, {2}}};
    for (std::size_t i = 0; i < options_.attention.size(); ++i) {
      const std::int64_t size = options_.attention[i].size;
      fields.push_back({"att" + std::to_string(i), DType::f32, {1, size, size}});
    }
    return fields;
  }

  void sample(const Record& record, Stream& random, Row row) const override {
    StreamDraws drawn(random);
    CentredDraws centred;
    DrawSource& draws = options_.augment ? static_cast<DrawSource&>(drawn) : centred;
    thread_local View view;
    const Picture picture = whole_picture(record, decoding_);
    take_boxes(record.boxes, picture, options_, view);
    if (options_.saccade)
      cut_saccade(picture, options_, draws, view);
    else
      cut_cornernet(picture, options_, draws, view);
    paint(view, draws, as<float>(row[0]));
    write_targets(view.boxes, options_,
                  {as<GaussianTarget>(row[1]), as<std::uint8_t>(row[2]), as<float>(row[3]), as<float>(row[4]),
                   as<std::int64_t>(row[5]), as<std::int64_t>(row[6]), as<std::int32_t>(row[7])});
    const std::array<std::int32_t, 2> cells{options_.output_size.height, options_.output_size.width};
    std::memcpy(row[8], cells.data(), sizeof cells);
    for (std::size_t i = 0; i < options_.attention.size(); ++i)
      write_attention(view.boxes, options_.attention[i], as<float>(row[9 + i]));
  }

 private:
  template <class T>
  static T* as(std::byte* bytes) {
    return reinterpret_cast<T*>(bytes);
  }

  void paint(const View& view, DrawSource& draws, float* image) const {
    const std::size_t count = view.pixels.size() / 3;
    ColorMap map;
    if (options_.rand_color) {
      draw_jitter(view.pixels.data(), count, draws, map);
      if (options_.lighting) map.light(draws.lighting());
    }
    map.normalize();
    map.apply(view.pixels.data(), count, image);
  }

  CornerOptions options_;
  Decoding decoding_;
};

SamplerEntry entry(const std::string& name, const std::string& help, bool saccade) {
  return {name, help, corner_keys(saccade), [name, saccade](const Settings& settings, const SamplerInput& input) {
            const std::int64_t classes = classes_of_boxes(name, input);
            const auto options = corner_options(settings, saccade, input.training, classes);
            return std::make_unique<CornerSampler>(options, decoding_of(settings));
          }};
}

}  // namespace

SamplerEntry cornernet_entry() {
  return entry("cornernet", "images with boxes, for CornerNet and CornerNet-Squeeze", false);
}

SamplerEntry cornernet_saccade_entry() {
  return entry("cornernet_saccade", "images with boxes, for CornerNet-Saccade", true);
}

}  // namespace flowtrain
