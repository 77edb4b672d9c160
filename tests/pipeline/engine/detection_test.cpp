// Detectors measured on records: with a detector that finds what is white, and errs.
#include "pipeline/engine/validation/detection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "sampling/core/error.h"
#include "stages/evaluation/detection_metrics.h"
#include "tests/pipeline/engine/thread_group.h"

namespace flowtrain::detection_test {
namespace {

constexpr int side = 32;

/// Black pictures, each with one white box, of two classes by turns; counts how often each is read.
class WhiteBoxes : public Dataset {
 public:
  explicit WhiteBoxes(std::uint64_t count) : reads(count) {}
  std::uint64_t size() const override { return reads.size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    ++reads[id];
    if (id == lost) throw SampleError("lost");
    const auto at = static_cast<int>(id % 16);
    buffer.bytes.assign(side * side * 3, std::byte{0});
    for (int y = at; y < at + 9; ++y) std::fill_n(buffer.bytes.data() + (y * side + at) * 3, 8 * 3, std::byte{255});
    const auto near = static_cast<float>(at);
    buffer.boxes = {{near, near, near + 8, near + 9, static_cast<std::int32_t>(id % 2)}};
    return {.id = id,
            .encoding = Encoding::pixels,
            .bytes = buffer.bytes,
            .height = side,
            .width = side,
            .channels = 3,
            .boxes = buffer.boxes};
  }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {"even", "odd"}; }
  std::string describe(std::uint64_t id) const override { return std::string("record ").append(std::to_string(id)); }

  mutable std::vector<std::atomic<int>> reads;
  std::uint64_t lost = ~std::uint64_t{0};
};

/// What is white, a little too wide in some places, and in others a second one that is not there.
class WhiteDetector : public Detector {
 public:
  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    const auto* white = std::find(bgr, bgr + height * width * 3, 255);
    const auto at = static_cast<int>(white - bgr) / 3 % width;
    const auto near = static_cast<float>(at);
    std::vector<Detection> found{{near, near, near + 8 + static_cast<float>(at % 5), near + 9, 0.5F, at % 2}};
    if (at % 3 == 0) found.push_back({20, 0, 28, 8, 0.9F - 0.05F * near, at % 2});
    return found;
  }
};

std::set<std::uint64_t> all_of(const Dataset& dataset) {
  std::set<std::uint64_t> records;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) records.insert(id);
  return records;
}

/// The metrics as each of `world` processes has them.
std::vector<Scalars> measure(const DetectionMetrics& metrics, const std::set<std::uint64_t>& records, int fixture) {
  std::vector<Scalars> scalars(static_cast<std::size_t>(fixture));
  testing::as_ranks(fixture, [&](Group& group) {
    WhiteDetector detector;
    scalars[static_cast<std::size_t>(group.rank())] =
        *measure_detection(metrics, detector, records, group, [] { return true; });
  });
  return scalars;
}

bool read_once(const WhiteBoxes& dataset) {
  return std::all_of(dataset.reads.begin(), dataset.reads.end(), [](auto& reads) { return reads == 1; });
}

TEST_CASE("a detector's metrics are the same bits however many processes look, and each record is read once") {
  const auto& names = detection_metric_names();
  WhiteBoxes alone(47);
  const Scalars one = measure({alone, names}, all_of(alone), 1).front();
  CHECK(read_once(alone));
  REQUIRE(one.size() == names.size());
  CHECK(one[0].first == "ap");
  CHECK(one[0].second > 0.2);
  CHECK(one[0].second < 0.9);
  CHECK(one[1].first == "ap50");
  CHECK(one[1].second > one[0].second);
  CHECK(one.back().first == "voc_map");
  for (const int fixture : {2, 3, 5}) {
    const WhiteBoxes shared(47);
    for (const auto& scalars : measure({shared, names}, all_of(shared), fixture)) CHECK(scalars == one);
    CHECK(read_once(shared));
  }
  const WhiteBoxes few(2);  // fewer records than processes
  CHECK(measure({few, names}, all_of(few), 4)[3] == measure({few, names}, all_of(few), 1)[0]);
}

TEST_CASE("a detector is measured by the metrics that are named, on the records that are named") {
  const WhiteBoxes dataset(40);
  const auto some = measure({dataset, {"voc_map", "ap"}}, {1, 2, 30}, 2).front();
  REQUIRE(some.size() == 2);
  CHECK(some[0].first == "voc_map");
  CHECK(some[1].first == "ap");
  CHECK(std::accumulate(dataset.reads.begin(), dataset.reads.end(), 0) == 3);
}

TEST_CASE("a record that is lost has no boxes, and is not looked at") {
  WhiteBoxes dataset(6);
  dataset.lost = 4;
  WhiteDetector detector;
  const std::vector<std::uint64_t> records{3, 4, 5};
  std::vector<std::string> damage;
  const auto image_results = detect_in(dataset, {}, records, 1, detector, [&](const DetectedImage& detected) {
    damage.push_back(detected.damage);
    return true;
  });
  CHECK(damage == std::vector<std::string>{"", "lost", ""});
  REQUIRE(image_results.size() == 3);
  CHECK(image_results[0].boxes.size() == 1);
  CHECK(image_results[0].found.size() == 2);
  CHECK(image_results[1].record == 4);
  CHECK(image_results[1].boxes.empty());
  CHECK(image_results[1].found.empty());
}

TEST_CASE("a measurement that is interrupted gives no metrics") {
  const WhiteBoxes dataset(40);
  WhiteDetector detector;
  int left = 10;
  const auto scalars =
      measure_detection({dataset, {"ap"}}, detector, all_of(dataset), solo_group(), [&] { return --left > 0; });
  CHECK_FALSE(scalars);
  CHECK(std::accumulate(dataset.reads.begin(), dataset.reads.end(), 0) <= 11);
}

}  // namespace
}  // namespace flowtrain::detection_test
