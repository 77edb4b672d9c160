#include "sampling/plans/lengths.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sampling/datasets/kept_index.h"
#include "sampling/sampler.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/memory_dataset.h"

namespace {

/// Measures the width of records of pixels.
class Widths final : public flowtrain::Sampler {
 public:
  std::vector<flowtrain::Field> fields() const override {
    return {{.name = "row", .dtype = flowtrain::DType::u8, .shape = {100}, .free_axes = 1}};
  }
  void sample(const flowtrain::Record&, flowtrain::Stream&, flowtrain::Row) const override {}
  void measure(const flowtrain::Record& record, std::span<std::int64_t> extents) const override {
    extents[0] = record.width;
  }
};

/// The head of a file of lengths (sampling/plans/lengths.h).
struct Head {
  std::array<char, 8> magic;
  std::uint64_t fingerprint, settings, checksum;
};

}  // namespace

// Takes the input as a file of kept lengths, and as the lengths of a file whose head is right.
FUZZ_TARGET(lengths) {
  using namespace flowtrain;
  const MemoryDataset dataset({pixels_item(1, 3, 1), pixels_item(1, 4, 1)});
  const Widths sampler;
  const auto folder = fuzz::as_file({}, "none").parent_path() / "lengths";
  const MeasureOptions options{.folder = folder, .settings = "", .threads = 1};
  const auto measured = measure(dataset, sampler, options);
  const auto path = std::filesystem::directory_iterator(folder)->path();
  Head head;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&head), sizeof(head));
  const auto write = [&](std::initializer_list<fuzz::Bytes> parts) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    for (const auto part : parts)
      file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  };
  write({input});
  fuzz::require(std::ranges::equal(measure(dataset, sampler, options).axis(), measured.axis()),
                "a file that is none is made anew");
  head.checksum = checksum_of(head, input);
  write({std::as_bytes(std::span(&head, 1)), input});
  const auto kept = measure(dataset, sampler, options);
  const bool holds = std::ranges::equal(std::as_bytes(measured.axis()), input);
  fuzz::require(kept.records_read == (holds ? 0 : 2), "lengths are taken from a file that holds those of the records");
  fuzz::require(std::ranges::equal(kept.axis(), measured.axis()), "other lengths are measured anew");
  std::filesystem::remove_all(folder);
}
