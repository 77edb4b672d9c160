#include "sampling/datasets/arrays_dataset.h"

#include <doctest/doctest.h>

#include <vector>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::arrays_dataset_test {
namespace {

const std::vector<std::byte> pixels = [] {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 3 * 2 * 4 * 1; ++i) bytes.push_back(std::byte(i));
  return bytes;
}();
const std::vector<std::int64_t> labels{2, 0, 1};

/// Three grey pictures, two pixels high and four wide.
Arrays three() { return {.images = pixels, .labels = labels, .height = 2, .width = 4, .channels = 1}; }

}  // namespace

TEST_CASE("records are views of the pictures in memory") {
  const auto dataset = make_arrays_dataset(three());
  CHECK(dataset->size() == 3);
  CHECK(dataset->resident());
  CHECK(dataset->classes() == std::vector<std::string>{"0", "1", "2"});
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Record record = dataset->read(id, buffer);
    CHECK(record.bytes.data() == pixels.data() + id * 8);
    CHECK(record.bytes.size() == 8);
    CHECK(record.encoding == Encoding::pixels);
    CHECK(record.height == 2);
    CHECK(record.width == 4);
    CHECK(record.channels == 1);
    CHECK(record.label == labels[id]);
    CHECK(dataset->label(id) == labels[id]);
  }
  CHECK(dataset->describe(2) == "images[2]");
}

TEST_CASE("the fingerprint is that of all pixels and labels") {
  const auto first = make_arrays_dataset(three())->fingerprint();
  CHECK(make_arrays_dataset(three())->fingerprint() == first);
  auto changed = pixels;
  changed.back() ^= std::byte{1};
  Arrays other = three();
  other.images = changed;
  CHECK(make_arrays_dataset(other)->fingerprint() != first);
  const std::vector<std::int64_t> relabelled{2, 1, 0};
  other = three();
  other.labels = relabelled;
  CHECK(make_arrays_dataset(other)->fingerprint() != first);
}

TEST_CASE("pictures and labels that do not fit together are refused") {
  const auto refused = [](const std::string& message, auto change) {
    Arrays arrays = three();
    change(arrays);
    check_failure(failure_of([&] { make_arrays_dataset(std::move(arrays)); }), ExitCode::data, message);
  };
  refused("24 bytes, expected 36: 3 labels for images of 3x4x1", [](Arrays& arrays) { arrays.height = 3; });
  refused("24 bytes, expected 16: 2 labels for images of 2x4x1",
          [](Arrays& arrays) { arrays.labels = arrays.labels.first(2); });
  refused("labels[0] is 2, but class_names has 2 names", [](Arrays& arrays) { arrays.class_names = {"a", "b"}; });
  static const std::vector<std::int64_t> negative{0, -1, 0}, huge{0, 0, std::int64_t{1} << 40};
  refused("labels[1] is -1", [](Arrays& arrays) { arrays.labels = negative; });
  refused("labels[2] is 1099511627776", [](Arrays& arrays) { arrays.labels = huge; });
  CHECK_THROWS_AS(make_arrays_dataset({.images = {}, .labels = {}, .height = 2, .width = 4, .channels = 1}),
                  EmptyDataset);
}

}  // namespace flowtrain::arrays_dataset_test
