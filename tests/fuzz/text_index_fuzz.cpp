#include <algorithm>
#include <cstring>

#include "sampling/datasets/text/text_index.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace {

using namespace flowtrain;

/// Bytes as a file.
class Memory final : public ByteSource {
 public:
  explicit Memory(fuzz::Bytes bytes) : bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const auto from = bytes_.subspan(std::min<std::size_t>(offset, bytes_.size()));
    const auto part = from.first(std::min(from.size(), into.size()));
    std::ranges::copy(part, into.begin());
    return part.size();
  }

 private:
  fuzz::Bytes bytes_;
};

/// Checks that an index has ranges in order within a file, and returns the same index after it was kept.
void check_index(const TextIndex& index, std::uint64_t file_bytes) {
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const auto range = index[i];
    fuzz::require(range.offset >= end && range.size_bytes > 0, "ranges follow one another");
    end = range.offset + range.size_bytes;
  }
  fuzz::require(end <= file_bytes, "ranges are within the file");
  const auto again = TextIndex::parse(index.bytes(), file_bytes);
  fuzz::require(again && again->size() == index.size(), "an index that is kept comes back");
}

}  // namespace

// Takes the input as the bytes of a kept index, and as a text whose index is made in one piece and in several.
FUZZ_TARGET(text_index) {
  for (const std::uint64_t file_bytes : {std::uint64_t{0}, std::uint64_t{1000}, ~std::uint64_t{0}})
    if (const auto index = TextIndex::parse(input, file_bytes)) {
      fuzz::require(std::ranges::equal(index->bytes(), input), "an index has one form");
      check_index(*index, file_bytes);
    }
  const Memory file(input);
  for (const auto unit : {TextUnit::line, TextUnit::paragraph}) {
    const auto whole = scan_text(file, unit, 0, input.size());
    check_index(whole, input.size());
    TextIndex joined;
    for (std::uint64_t begin = 0; begin < input.size();) {
      const auto end = record_border(file, unit, begin + 5, input.size());
      fuzz::require(end > begin, "a piece has an end");
      joined.append(scan_text(file, unit, begin, end));
      begin = end;
    }
    fuzz::require(std::ranges::equal(joined.bytes(), whole.bytes()), "pieces make the index of the whole");
  }
}
