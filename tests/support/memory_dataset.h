#pragma once
// A data set of records held in memory, for tests of samplers.

#include <string>
#include <utility>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

class MemoryDataset : public Dataset {
 public:
  /// One record; `bytes` is kept. Its height, width and channels count for pixels only.
  struct Item {
    Encoding encoding = Encoding::pixels;
    std::vector<std::byte> bytes;
    std::uint32_t height = 0, width = 0, channels = 0;
    std::int64_t label = 0;
    Box region{0, 0, 0, 0, -1};
  };

  explicit MemoryDataset(std::vector<Item> items, std::size_t classes = 10)
      : items_(std::move(items)), classes_(classes, "class") {}

  std::uint64_t size() const override { return items_.size(); }
  Record read(std::uint64_t id, ReadBuffer&) const override {
    const Item& item = items_.at(id);
    return {id, item.encoding, item.bytes, item.height, item.width, item.channels, item.label, {}, item.region};
  }
  std::int64_t label(std::uint64_t id) const override { return items_.at(id).label; }
  std::vector<std::string> classes() const override { return classes_; }
  std::string describe(std::uint64_t id) const override { return "memory #" + std::to_string(id); }
  bool resident() const override { return true; }

 private:
  std::vector<Item> items_;
  std::vector<std::string> classes_;
};

/// A record of pixels where byte i is (i · step) mod 256.
inline MemoryDataset::Item pixels_item(std::uint32_t height, std::uint32_t width, std::uint32_t channels,
                                       std::int64_t label = 3, unsigned step = 7) {
  MemoryDataset::Item item{Encoding::pixels, {}, height, width, channels, label};
  for (std::size_t i = 0; i < std::size_t{height} * width * channels; ++i)
    item.bytes.push_back(static_cast<std::byte>(i * step));
  return item;
}

}  // namespace flowtrain
