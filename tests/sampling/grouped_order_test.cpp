// Batches of groups: each source has so many rows of every batch, in an order of its own.

#include "sampling/sources/grouped_order.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "sampling/core/registry.h"
#include "sampling/sources/grouped_sampler.h"
#include "sampling/sources/mixed_dataset.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::grouped_order_test {

namespace {

std::unique_ptr<Order> shuffled(std::uint64_t size, std::uint64_t seed) {
  const MemoryDataset dataset{std::vector<MemoryDataset::Item>(size)};
  const auto& entry = orders().at("shuffle");
  return entry.make(settings_for(entry.keys, {}, "order"), {dataset, seed});
}

GroupedOrder grouped(std::uint64_t batches) {
  std::vector<OrderedGroup> groups;
  groups.push_back({shuffled(37, 1), 0, 4});
  groups.push_back({shuffled(50, 2), 37, 8});
  groups.push_back({shuffled(3, 3), 87, 2});
  return GroupedOrder(std::move(groups), batches);
}

/// Makes rows of one field, whose bytes are the record's id, as long as the row's extent.
class Ids : public Sampler {
 public:
  explicit Ids(std::int64_t length) : length_(length) {}
  std::vector<Field> fields() const override {
    return {{.name = "ids", .dtype = DType::u8, .shape = {length_}, .free_axes = 1}};
  }
  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    extents[0] = static_cast<std::int64_t>(record.id % 5);
  }
  void sample(const Record& record, Stream&, Row row) const override {
    std::memset(row[0], static_cast<int>(record.id), static_cast<std::size_t>(row.extents()[0]));
  }

 private:
  std::int64_t length_;
};

}  // namespace

TEST_CASE("each source of a batch of groups continues its own order, over all epochs") {
  const auto order = grouped(10);
  CHECK(order.size() == 140);
  const std::unique_ptr<Order> own[] = {shuffled(37, 1), shuffled(50, 2), shuffled(3, 3)};
  const std::uint64_t rows[] = {4, 8, 2}, first_ids[] = {0, 37, 87};
  std::uint64_t positions[] = {0, 0, 0};
  for (std::uint64_t batch = 0; batch < 30; ++batch) {
    std::uint64_t index = batch % 10 * 14;
    for (std::size_t group = 0; group < 3; ++group)
      for (std::uint64_t row = 0; row < rows[group]; ++row, ++index) {
        const std::uint64_t size = own[group]->size(), position = positions[group]++;
        CHECK(order.at(batch / 10, index) == first_ids[group] + own[group]->at(position / size, position % size));
      }
  }
}

TEST_CASE("rows of groups that are drawn at once are those that are drawn one by one") {
  const auto order = grouped(10);
  for (const std::uint64_t first : {0, 3, 4, 11, 13, 14, 75})
    for (const std::size_t count : {1u, 2u, 9u, 14u, 40u, 65u}) {
      std::vector<std::uint64_t> ids(count), single(count);
      order.fill(2, first, ids);
      for (std::size_t i = 0; i < count; ++i) single[i] = order.at(2, first + i);
      CHECK(ids == single);
    }
}

TEST_CASE("groups keep their own classes and parts, and each record is made by the sampler of its source") {
  std::vector<MixedDataset::Source> sources;
  sources.push_back({"none", std::make_unique<MemoryDataset>(std::vector{pixels_item(2, 2, 1)}, /*classes=*/0)});
  sources.push_back({"some", std::make_unique<MemoryDataset>(std::vector(4, pixels_item(2, 2, 1)), 3)});
  const MixedDataset dataset(std::move(sources), Sources::groups);
  CHECK(dataset.classes().size() == 3);
  std::vector<std::unique_ptr<Sampler>> samplers;
  samplers.push_back(std::make_unique<Ids>(6));
  samplers.push_back(std::make_unique<Ids>(4));
  const GroupedSampler sampler(std::move(samplers), dataset.sources());
  const auto fields = sampler.fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "none.ids");
  CHECK(fields[1].name == "some.ids");
  CHECK(fields[0].group == 0);
  CHECK(fields[1].group == 1);

  ReadBuffer buffer;
  const Record record = dataset.read(3, buffer);
  std::int64_t measured[] = {-1, -1};
  sampler.measure(record, measured);
  CHECK(measured[0] == 0);
  CHECK(measured[1] == 3);
  std::array<std::byte, 4> bytes{};
  const std::int64_t extents[] = {5, 2};
  std::byte* const row[] = {nullptr, bytes.data()};
  Stream random(1, Purpose::sample, 0);
  sampler.sample(record, random, Row(std::span(row), extents));
  CHECK(bytes == std::array{std::byte{3}, std::byte{3}, std::byte{0}, std::byte{0}});
}

}  // namespace flowtrain::grouped_order_test
