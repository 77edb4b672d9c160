// A transform in one file: a list of numbers becomes a grey picture of bars, and says itself how it is shown.
#include <algorithm>
#include <cstring>

#include "pipeline/plugin.h"

using namespace flowtrain;

namespace {

constexpr std::int64_t side = 16;

Shown show_bars(const Field&, std::span<const std::byte> value) {
  std::vector<float> levels(value.size());
  std::ranges::transform(value, levels.begin(), [](std::byte each) { return static_cast<float>(each); });
  const auto filled = std::ranges::count_if(levels, [](float level) { return level > 0; });
  return {std::to_string(filled) + " of 256 filled", heat_map(levels, side, side)};
}

class Bars final : public Transform {
 public:
  Bars(const Settings& settings, const TransformInput& input) : name_(input.name), from_(input.from) {
    if (from_.encoding != Encoding::array) throw wrong_part(settings, from_, "a list of numbers");
  }
  std::vector<Field> fields() const override {
    return {{.name = name_, .dtype = DType::u8, .shape = {side, side, 1}, .show = show_bars}};
  }
  void make(const Record& record, Stream, Row row) const override {
    std::byte* const to = row[0];
    std::memset(to, 0, side * side);
    const auto bytes = part_of(record, from_).bytes;
    for (std::size_t bar = 0; bar < std::min<std::size_t>(bytes.size() / sizeof(std::int64_t), side); ++bar) {
      std::int64_t height = 0;
      std::memcpy(&height, bytes.data() + bar * sizeof height, sizeof height);
      for (std::int64_t y = 0; y < std::clamp<std::int64_t>(height, 0, side); ++y)
        to[static_cast<std::size_t>((side - 1 - y) * side) + bar] = std::byte{200};
    }
  }

 private:
  std::string name_;
  PartForm from_;
};

void add_bars() {
  transforms().add(
      {"bars", "a list of numbers as a picture of bars", {}, [](const Settings& settings, const TransformInput& input) {
         return std::make_unique<Bars>(settings, input);
       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add_bars)
