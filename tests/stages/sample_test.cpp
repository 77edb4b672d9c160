// The sample stage: rows one by one, or in blocks.
#include "stages/loader/sample.h"

#include <doctest/doctest.h>

#include <set>

#include "sampling/core/error.h"
#include "sampling/sources/mixed_dataset.h"
#include "tests/support/memory_dataset.h"

namespace flowtrain::sample_test {

namespace {

/// Writes a record's first byte. Counts its calls; a record whose first byte is 66 is damaged.
class FirstByte : public Sampler {
 public:
  explicit FirstByte(bool blocks) : blocks_(blocks) {}
  std::vector<Field> fields() const override { return {{"byte", DType::u8, {1}}}; }
  void sample(const Record& record, Stream&, Row row) const override {
    ++calls;
    write(record, row[0]);
  }
  bool takes_blocks() const override { return blocks_; }
  void sample_rows(std::span<const Record* const> records, Row first) const override {
    ++block_calls;
    for (std::size_t i = 0; i < records.size(); ++i) write(*records[i], first[0] + i);
  }

  mutable int calls = 0, block_calls = 0;

 private:
  static void write(const Record& record, std::byte* to) {
    if (record.bytes[0] == std::byte{66}) throw SampleError("damaged");
    *to = record.bytes[0];
  }
  bool blocks_;
};

MemoryDataset letters(std::size_t damaged) {
  std::vector<MemoryDataset::Item> items;
  for (std::size_t i = 0; i < 20; ++i) {
    auto item = pixels_item(1, 1, 1);
    item.bytes[0] = static_cast<std::byte>(i == damaged ? 66 : 100 + i);
    items.push_back(item);
  }
  return MemoryDataset(items);
}

struct Done {
  std::vector<std::byte> rows;
  std::vector<BadSample> bad;
};

Done run(const Dataset& dataset, const FirstByte& sampler) {
  const auto device = make_cpu_device();
  const SlabLayout layout(sampler.fields(), 20);
  Slab slab(layout, *device);
  slab.begin({}, 0, 20, 4);
  for (std::uint64_t i = 0; auto& row : slab.rows()) row.position = 40 + i, row.id = i, ++i;
  const SampleStage stage(dataset, sampler, 3);
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk) do
      read_rows(dataset, slab.chunk(chunk));
    while (!stage(slab, chunk));
  return {{slab.host(), slab.host() + 20}, slab.bad()};
}

}  // namespace

TEST_CASE("blocks of rows are what the rows are one by one") {
  const MemoryDataset dataset = letters(99);
  const FirstByte rows(false), blocks(true);
  const Done expected = run(dataset, rows), got = run(dataset, blocks);
  CHECK(got.rows == expected.rows);
  CHECK(got.rows[19] == std::byte{119});
  CHECK(rows.calls == 20);
  CHECK(blocks.calls == 0);
  CHECK(blocks.block_calls == 4);
}

TEST_CASE("a damaged record in a block is found and replaced, as one by one") {
  const MemoryDataset dataset = letters(7);
  const FirstByte rows(false), blocks(true);
  const Done expected = run(dataset, rows), got = run(dataset, blocks);
  CHECK(got.rows == expected.rows);
  REQUIRE(got.bad.size() == 1);
  CHECK(got.bad[0].id == 7);
  CHECK(got.bad[0].substitute == expected.bad[0].substitute);
  CHECK(blocks.block_calls == 4);
  CHECK(blocks.calls == 6);  // the five of its chunk, and the one that took its place
}

TEST_CASE("a record that cannot be measured is damaged for the reason that measuring tells") {
  class Unmeasured : public Sampler {
   public:
    std::vector<Field> fields() const override {
      return {{.name = "byte", .dtype = DType::u8, .shape = {4}, .free_axes = 1}};
    }
    void measure(const Record&, std::span<std::int64_t>) const override { throw SampleError("the text is too long"); }
    void sample(const Record&, Stream&, Row) const override { throw SampleError("the row does not fit its batch"); }
  };
  const MemoryDataset dataset = letters(99);
  const Unmeasured sampler;
  const auto device = make_cpu_device();
  const SlabLayout layout(sampler.fields(), 1);
  Slab slab(layout, *device);
  const std::vector<std::int64_t> extents{2};
  slab.begin({}, 0, 1, 1, extents);
  const SampleStage stage(dataset, sampler, 3);
  read_rows(dataset, slab.chunk(0));
  CHECK_FALSE(stage(slab, 0));
  REQUIRE(slab.bad().size() == 1);
  CHECK(slab.bad()[0].reason == "the text is too long");
}

TEST_CASE("a record in place of a damaged one fits into the batch, and is not cut") {
  class Lengths20 : public Sampler {
   public:
    std::vector<Field> fields() const override {
      return {{.name = "byte", .dtype = DType::u8, .shape = {20}, .free_axes = 1}};
    }
    void measure(const Record& record, std::span<std::int64_t> extents) const override {
      extents[0] = static_cast<std::int64_t>(record.id);
    }
    void sample(const Record& record, Stream&, Row) const override {
      if (record.id == 3) throw SampleError("damaged");
    }
  };
  const MemoryDataset dataset = letters(99);
  const Lengths20 sampler;
  ShapePlan plan{.lengths = measure(dataset, sampler, {})};
  const auto device = make_cpu_device();
  const SlabLayout layout = slab_layout(sampler.fields(), 1, &plan);
  Slab slab(layout, *device);
  const SampleStage stage(dataset, sampler, 3, &plan);
  const auto replace_third = [&](std::int64_t extent, std::uint64_t position) {
    const std::vector<std::int64_t> extents{extent};
    slab.begin({}, 0, 1, 1, extents);
    auto& row = slab.rows()[0];
    row.position = position;
    row.id = 3;
    read_rows(dataset, slab.chunk(0));
    const bool is_done = stage(slab, 0);
    CHECK_FALSE(is_done);
    return row.id;
  };
  std::set<std::uint64_t> drawn;
  for (std::uint64_t position = 0; position < 100; ++position) drawn.insert(replace_third(5, position));
  CHECK(drawn == std::set<std::uint64_t>{0, 1, 2, 4, 5});
  for (auto& length : plan.lengths.axis()) length = 4;
  CHECK_THROWS_WITH_AS(replace_third(3, 0), doctest::Contains("no other record is short enough"), UserError);
}

TEST_CASE("a damaged record is replaced by one of its own source") {
  std::vector<MixedDataset::Source> sources;
  sources.push_back({"a", std::make_unique<MemoryDataset>(letters(99))});
  sources.push_back({"b", std::make_unique<MemoryDataset>(std::vector<MemoryDataset::Item>(3, pixels_item(1, 1, 1)))});
  const auto dataset = std::make_unique<MixedDataset>(std::move(sources));
  const FirstByte sampler(false);
  const auto device = make_cpu_device();
  const SlabLayout layout(sampler.fields(), 1);
  Slab slab(layout, *device);
  const SampleStage stage(*dataset, sampler, 3);
  for (std::uint64_t position = 0; position < 50; ++position)
    for (const std::uint64_t id : {4, 21}) {
      slab.begin({}, 0, 1, 1);
      auto& row = slab.rows()[0];
      row.position = position;
      row.id = id;
      row.state = RowWork::State::failed;
      CHECK_FALSE(stage(slab, 0));
      CHECK((row.id < 20) == (id < 20));
    }
}

}  // namespace flowtrain::sample_test
