// Records that a detector looks at: with a detector that finds what is white, and errs.
#include "pipeline/detection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "stages/evaluation/coco_eval.h"

namespace flowtrain {
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
    return {.id = id, .encoding = Encoding::pixels, .bytes = buffer.bytes, .height = side, .width = side, .channels = 3,
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

TEST_CASE("a detector looks at the records that are named; each is read once, for its picture and its boxes") {
  const WhiteBoxes dataset(40);
  WhiteDetector detector;
  const std::vector<std::uint64_t> records{30, 1, 2};
  const auto sights = look_at(dataset, records, detector, [](auto&) { return true; });
  REQUIRE(sights.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(sights[i].record == records[i]);
  for (std::uint64_t id = 0; id < 40; ++id) CHECK(dataset.reads[id] == (id == 30 || id == 1 || id == 2));
  const auto truth = ground_truth(dataset, sights);
  const auto found = found_objects(truth, sights);
  CHECK(truth.objects.size() == 3);
  const double ap = coco_evaluate(truth, found).all.ap;
  CHECK(ap > 0.2);
  CHECK(ap < 1);
  for (std::uint64_t id = 0; id < 40; ++id) CHECK(dataset.reads[id] <= 1);
}

TEST_CASE("a record that is lost has no boxes, and is not looked at") {
  WhiteBoxes dataset(6);
  dataset.lost = 4;
  WhiteDetector detector;
  const std::vector<std::uint64_t> records{3, 4, 5};
  std::vector<std::string> damage;
  const auto sights = look_at(dataset, records, detector, [&](const LookedAt& looked) {
    damage.push_back(looked.damage);
    return true;
  });
  CHECK(damage == std::vector<std::string>{"", "lost", ""});
  REQUIRE(sights.size() == 3);
  CHECK(sights[0].boxes.size() == 1);
  CHECK(sights[0].found.size() == 2);
  CHECK(sights[1].record == 4);
  CHECK(sights[1].boxes.empty());
  CHECK(sights[1].found.empty());
}

TEST_CASE("looking ends where it is told to") {
  const WhiteBoxes dataset(40);
  WhiteDetector detector;
  std::vector<std::uint64_t> records(40);
  std::iota(records.begin(), records.end(), 0);
  int left = 10;
  CHECK(look_at(dataset, records, detector, [&](auto&) { return --left > 0; }).size() == 10);
  CHECK(std::accumulate(dataset.reads.begin(), dataset.reads.end(), 0) <= 11);
}

}  // namespace
}  // namespace flowtrain
