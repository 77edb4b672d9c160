// Several data sets as one.

#include "sampling/sources/mixed_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "sampling/core/registry.h"
#include "sampling/images/picture_cache.h"
#include "sampling/order.h"
#include "tests/support/memory_dataset.h"

namespace flowtrain::mixed_dataset_test {

namespace {

std::vector<MemoryDataset::Item> items(std::size_t count, std::int64_t label) {
  return std::vector<MemoryDataset::Item>(count, pixels_item(2, 2, 1, label));
}

/// Notes what it is told.
class Far : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  bool takes_hints() const override { return true; }
  void hint(std::uint64_t id) const override { hinted.push_back(id); }
  void prefetch(std::uint64_t id) const override { prefetched.push_back(id); }
  void forget(std::uint64_t id) const override { forgotten.push_back(id); }
  std::uint64_t retries() const override { return 3; }
  bool resident() const override { return false; }
  bool has_boxes() const override { return true; }

  mutable std::vector<std::uint64_t> hinted, prefetched, forgotten;
};

std::unique_ptr<MixedDataset> both(std::unique_ptr<Dataset> second) {
  std::vector<MixedDataset::Source> sources;
  sources.push_back({"near", std::make_unique<MemoryDataset>(items(5, 1))});
  sources.push_back({"other", std::move(second)});
  return std::make_unique<MixedDataset>(std::move(sources));
}

std::string difference(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  try {
    agreed_classes(first, second);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the records of several sources follow on one another") {
  const auto dataset = both(std::make_unique<MemoryDataset>(items(3, 2)));
  CHECK(dataset->size() == 8);
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < 8; ++id) {
    const Record record = dataset->read(id, buffer);
    CHECK(record.id == id);
    CHECK(record.label == (id < 5 ? 1 : 2));
    CHECK(dataset->label(id) == record.label);
    const auto range = dataset->source_of(id);
    CHECK(range.first == (id < 5 ? 0 : 5));
    CHECK(range.size == (id < 5 ? 5 : 3));
  }
  CHECK(dataset->describe(4) == "near: memory #4");
  CHECK(dataset->describe(5) == "other: memory #0");
  CHECK(dataset->classes().size() == 10);
  CHECK(dataset->resident());
  CHECK_FALSE(dataset->has_boxes());
  CHECK_FALSE(dataset->takes_hints());
}

TEST_CASE("a source that is far away is told what concerns it, by its own numbers") {
  auto owned = std::make_unique<Far>(items(3, 2));
  const Far& far = *owned;
  const auto dataset = both(std::move(owned));
  CHECK(dataset->takes_hints());
  for (const std::uint64_t id : {0, 4, 5, 7}) dataset->hint(id);
  for (const std::uint64_t id : {7, 1}) dataset->prefetch(id);
  dataset->forget(5);
  CHECK(far.hinted == std::vector<std::uint64_t>{0, 2});
  CHECK(far.prefetched == std::vector<std::uint64_t>{2});
  CHECK(far.forgotten == std::vector<std::uint64_t>{0});
  CHECK(dataset->retries() == 3);
  CHECK_FALSE(dataset->resident());
  CHECK(dataset->has_boxes());
}

TEST_CASE("kept pictures are still of their sources") {
  const auto cached = with_picture_cache(both(std::make_unique<MemoryDataset>(items(3, 2))), 1 << 20);
  CHECK(cached->source_of(6).first == 5);
  const auto alone = with_picture_cache(std::make_unique<MemoryDataset>(items(3, 2)), 1 << 20);
  CHECK(alone->source_of(2).size == 3);
}

TEST_CASE("sources have the same classes") {
  using Names = std::vector<std::string>;
  CHECK(agreed_classes({"cat", "dog"}, {"cat", "dog"}) == Names{"cat", "dog"});
  CHECK(agreed_classes({"0", "1"}, {"cat", "dog"}) == Names{"cat", "dog"});
  CHECK(agreed_classes({"cat", "dog"}, {"0", "1"}) == Names{"cat", "dog"});
  CHECK(difference({"cat", "dog"}, {"cat", "cow"}) == "class 1 is 'cow', not 'dog'");
  CHECK(difference({"1", "2", "x"}, {"0", "1", "2"}) == "class 0 is '0', not '1'");
  CHECK(difference({"0", "1", "2"}, {"1", "2", "x"}) == "class 0 is '1', not '0'");
  CHECK(difference({"cat", "dog"}, {"cat"}) == "1 classes, not 2");
  CHECK_THROWS_AS(both(std::make_unique<MemoryDataset>(items(3, 2), 4)), std::invalid_argument);
}

TEST_CASE("a source's table has room for the keys of every data set beside those of every order") {
  const std::vector<std::string> own{"name", "dataset", "ratio", "order"};
  for (auto& dataset : datasets().names())
    for (auto& key : datasets().at(dataset).keys) {
      CAPTURE(dataset);
      CAPTURE(key.name);
      CHECK(std::find(own.begin(), own.end(), key.name) == own.end());
      for (auto& order : orders().names())
        for (auto& other : orders().at(order).keys) CHECK(other.name != key.name);
    }
}

}  // namespace flowtrain::mixed_dataset_test
