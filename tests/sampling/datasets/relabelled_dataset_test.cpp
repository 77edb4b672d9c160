#include "sampling/datasets/relabelled_dataset.h"

#include <doctest/doctest.h>

#include "sampling/core/registry.h"
#include "sampling/samplers/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::relabelled_dataset_test {
namespace {

using Texts = std::vector<std::string>;

/// Four records of classes 0, 1, 1, 0, each with a box of either class: the data set's own, or the buffer's.
class Boxed : public Dataset {
 public:
  explicit Boxed(bool in_buffer) : in_buffer_(in_buffer) {}

  std::uint64_t size() const override { return 4; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    if (in_buffer_) buffer.boxes = boxes_;
    return {.id = id,
            .label = label(id),
            .boxes = in_buffer_ ? buffer.boxes : boxes_,
            .region = {0, 0, 1, 1, static_cast<std::int32_t>(label(id))}};
  }
  std::int64_t label(std::uint64_t id) const override { return id == 1 || id == 2 ? 1 : 0; }
  Texts classes() const override { return {"dog", "emu"}; }
  bool has_boxes() const override { return true; }
  std::string describe(std::uint64_t id) const override { return "#" + std::to_string(id); }

  bool takes_hints() const override { return true; }
  std::uint64_t retries() const override { return 7; }

 private:
  bool in_buffer_;
  std::vector<Box> boxes_{{0, 0, 1, 1, 0}, {1, 1, 2, 2, 1, true}};
};

TEST_CASE("a data set under other classes: the same records in their places, with the others' labels") {
  for (const bool in_buffer : {false, true}) {
    CAPTURE(in_buffer);
    const auto set = std::make_unique<RelabelledDataset>(std::make_unique<Boxed>(in_buffer),
                                                         std::vector<std::string>{"cat", "dog", "emu"},
                                                         std::vector<std::int32_t>{1, 2});
    CHECK(set->classes() == Texts{"cat", "dog", "emu"});
    REQUIRE(set->size() == 4);
    CHECK(set->has_boxes());
    ReadBuffer buffer;
    for (int round = 0; round < 2; ++round)
      for (std::uint64_t id = 0; id < 4; ++id) {
        const std::int64_t label = id == 1 || id == 2 ? 2 : 1;
        const Record record = set->read(id, buffer);
        CHECK(record.id == id);
        CHECK(record.label == label);
        CHECK(set->label(id) == label);
        CHECK(record.region.label == label);
        REQUIRE(record.boxes.size() == 2);
        CHECK(record.boxes[0].label == 1);
        CHECK(record.boxes[1].label == 2);
        CHECK(record.boxes[1].ignore);
        CHECK(set->describe(id) == "#" + std::to_string(id));
      }
    CHECK(set->takes_hints());
    CHECK(set->retries() == 7);
  }
}

TEST_CASE("a data set under other classes: records without a label have none, other labels are bad samples") {
  auto items = std::vector{pixels_item(2, 2, 1, -1), pixels_item(2, 2, 1, 1), pixels_item(2, 2, 1, 2)};
  const auto set =
      std::make_unique<RelabelledDataset>(std::make_unique<MemoryDataset>(std::move(items), 2),
                                          std::vector<std::string>{"a", "b", "c"}, std::vector<std::int32_t>{2, 0});
  CHECK_FALSE(set->takes_hints());
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).label == -1);
  CHECK(set->read(1, buffer).label == 0);
  CHECK(std::string(failure_of<SampleError>([&] { set->read(2, buffer); }).what()) == "label 2 is out of range 0..1");
}

TEST_CASE("copy: a label beyond the classes is a bad sample") {
  const MemoryDataset set({pixels_item(2, 2, 1, 1), pixels_item(2, 2, 1, 2)}, 2);
  const auto entry = copy_entry();
  const auto sampler = entry.make(settings_for(entry.keys, {}, "sampler"), {set, true});
  std::byte pixels[4];
  std::int64_t label = -1;
  std::byte* row[] = {pixels, reinterpret_cast<std::byte*>(&label)};
  ReadBuffer buffer;
  Stream random(1, Purpose::sample, 0);
  sampler->sample(set.read(0, buffer), random, row);
  CHECK(label == 1);
  CHECK_THROWS_AS(sampler->sample(set.read(1, buffer), random, row), SampleError);
}

}  // namespace
}  // namespace flowtrain::relabelled_dataset_test
