// A sampler plugin for nets that segment: grey pictures, in which all that is bright is an object of the label's class.
//
//     g++ -std=c++20 -O2 -fPIC -shared -I. examples/masks.cpp -o masks.so     # from flowtrain's root
//
// Data: an idx file of u8 (rows, height, width), such as Fashion-MNIST.
#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

constexpr std::uint8_t dark = 63;       // and darker: background
constexpr std::int64_t background = 0;  // the classes follow

class Masks : public plugin::Sampler {
 public:
  explicit Masks(const plugin::Create& create) : height_(create.raw().height), width_(create.raw().width) {
    if (create.raw().encoding != FT_PIXELS || create.raw().channels != 1)
      throw plugin::Error("it needs a data set of grey pixels (idx)");
  }

  // image: u8 (height, width, 3), which the net gets as f32 (3, height, width). mask: i64 (height, width).
  std::vector<ft_field> fields() const override {
    return {plugin::field("image", FT_U8, {height_, width_, 3}), plugin::field("mask", FT_I64, {height_, width_})};
  }

  void sample(const ft_record& record, plugin::Random&, std::span<std::uint8_t* const> rows) const override {
    if (record.height != height_ || record.width != width_) throw plugin::Error("its size is not the first record's");
    for (std::uint64_t i = 0; i < record.bytes_size; ++i) {
      const std::int64_t value = record.bytes[i] > dark ? record.label + 1 : background;
      std::memset(rows[0] + i * 3, record.bytes[i], 3);
      std::memcpy(rows[1] + i * sizeof value, &value, sizeof value);
    }
  }

 private:
  std::uint32_t height_, width_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Masks, "masks", "grey pictures, and masks of what is bright in them")
