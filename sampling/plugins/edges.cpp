// An example of a sampler plugin: the strength of the edges in a stored image, and its label.
#include <cmath>

#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

class Edges : public plugin::BlockSampler {
 public:
  explicit Edges(const plugin::Create& create)
      : gain_(create.real("gain")),
        height_(create.raw().height),
        width_(create.raw().width),
        channels_(create.raw().channels) {
    if (create.raw().encoding != FT_PIXELS)
      throw plugin::Error("it needs a data set of stored pixels (idx, cifar); it decodes no files");
  }

  std::vector<ft_field> fields() const override {
    return {plugin::field("image", FT_U8, {height_, width_, 1}, {0.5f}, {0.5f}), plugin::field("label", FT_I64, {})};
  }

  void sample(const ft_record& record, plugin::Random&, std::span<std::uint8_t* const> rows) const override {
    fill(record, rows[0], rows[1]);
  }

  // This sampler draws nothing, so a batch's rows may be filled in few calls.
  void sample_rows(std::span<const ft_record* const> records, std::span<std::uint8_t* const> first) const override {
    const std::size_t pixels = std::size_t{height_} * width_;
    for (std::size_t i = 0; i < records.size(); ++i)
      fill(*records[i], first[0] + i * pixels, first[1] + i * sizeof(std::int64_t));
  }

 private:
  void fill(const ft_record& record, std::uint8_t* out, std::uint8_t* label) const {
    if (record.height != height_ || record.width != width_ || record.channels != channels_)
      throw plugin::Error("its size is not that of the first image");
    if (record.bytes_size != std::uint64_t{height_} * width_ * channels_) throw plugin::Error("it is cut short");
    for (std::uint32_t y = 0; y < height_; ++y)
      for (std::uint32_t x = 0; x < width_; ++x) *out++ = strength(record, y, x);
    std::memcpy(label, &record.label, sizeof record.label);
  }

  /// Returns the length of the gradient of the first channel, by central differences that stop at the borders.
  std::uint8_t strength(const ft_record& record, std::uint32_t y, std::uint32_t x) const {
    const auto at = [&](std::uint32_t row, std::uint32_t column) {
      return static_cast<int>(record.bytes[(std::size_t{row} * width_ + column) * channels_]);
    };
    const int dx = at(y, std::min(x + 1, width_ - 1)) - at(y, x > 0 ? x - 1 : 0);
    const int dy = at(std::min(y + 1, height_ - 1), x) - at(y > 0 ? y - 1 : 0, x);
    return static_cast<std::uint8_t>(std::min(255.0, gain_ * std::hypot(dx, dy)));
  }

  double gain_;
  std::uint32_t height_, width_, channels_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Edges, "edges", "strength of the edges in stored pixels",
                         {"gain", FT_REAL, "1.0", "factor of the strength"})
