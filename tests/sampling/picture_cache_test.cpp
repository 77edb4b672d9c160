// Decoded pictures kept in memory.
#include "sampling/images/picture_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "sampling/core/registry.h"
#include "sampling/sampler.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/pictures.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::picture_cache_test {
namespace {

constexpr std::uint64_t plenty = 1 << 24;

MemoryDataset::Item jpeg_item(const Image& picture, std::int64_t label, const JpegForm& form = {}) {
  MemoryDataset::Item item{Encoding::image, encode_jpeg(picture, false, form)};
  item.label = label;
  return item;
}

std::vector<MemoryDataset::Item> jpegs() {
  std::vector<MemoryDataset::Item> items;
  for (int i = 0; i < 6; ++i) {
    JpegForm form;
    form.orientation = i;  // 0: no Exif block
    items.push_back(jpeg_item(noise_picture(40 + i, 50, i == 5 ? 1 : 3), i, form));
  }
  return items;
}

/// Counts how often it is read.
class CountingDataset : public MemoryDataset {
 public:
  CountingDataset(std::vector<Item> items, std::atomic<int>& reads, std::atomic<int>& reported)
      : MemoryDataset(std::move(items)), reads_(reads), told_(reported) {}
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    ++reads_;
    return MemoryDataset::read(id, buffer);
  }
  bool takes_hints() const override { return true; }
  void hint(std::uint64_t) const override { ++told_; }
  void prefetch(std::uint64_t) const override { ++told_; }
  std::uint64_t retries() const override { return 7; }

 private:
  std::atomic<int>& reads_;
  std::atomic<int>& told_;
};

struct Counted {
  std::atomic<int> reads{0}, reported{0};
  std::unique_ptr<Dataset> dataset;
  explicit Counted(std::uint64_t budget_bytes)
      : dataset(with_picture_cache(std::make_unique<CountingDataset>(jpegs(), reads, reported), budget_bytes)) {}
};

std::unique_ptr<Sampler> classify(const Dataset& dataset, const char* exif) {
  const auto& entry = samplers().at("classify");
  return entry.make(settings_for(entry.keys, {{"size", std::int64_t{32}}, {"exif", std::string(exif)}}, "sampler"),
                    {dataset, true});
}

/// The rows of `epochs` epochs one after the other.
std::vector<std::uint8_t> rows_of(const Dataset& dataset, const Sampler& sampler, std::uint64_t epochs) {
  const std::size_t row_bytes = sampler.fields()[0].row_bytes();
  std::vector<std::uint8_t> rows(epochs * dataset.size() * row_bytes);
  ReadBuffer buffer;
  for (std::uint64_t position = 0; position < epochs * dataset.size(); ++position) {
    std::int64_t label = -1;
    std::byte* row[] = {reinterpret_cast<std::byte*>(rows.data() + position * row_bytes),
                        reinterpret_cast<std::byte*>(&label)};
    Stream random(1, Purpose::sample, position);
    sampler.sample(dataset.read(position % dataset.size(), buffer), random, row);
    CHECK(label == static_cast<std::int64_t>(position % dataset.size()));
  }
  return rows;
}

}  // namespace

TEST_CASE("rows are the same with all pictures kept, with some, and with none") {
  const MemoryDataset plain(jpegs());
  for (const char* exif : {"ignore", "apply"}) {
    CAPTURE(exif);
    const auto expected = rows_of(plain, *classify(plain, exif), 3);
    for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{20'000}, plenty}) {
      CAPTURE(budget);
      Counted counted(budget);
      const auto sampler = classify(*counted.dataset, exif);
      counted.reads = 0;
      CHECK(rows_of(*counted.dataset, *sampler, 3) == expected);
      if (budget == plenty) CHECK(counted.reads == 6);  // once each
      if (budget == 20'000) CHECK((counted.reads > 6 && counted.reads < 18));
      if (budget == 0) CHECK(counted.reads == 18);
    }
  }
}

TEST_CASE("a kept record has its picture, its boxes and its class") {
  const Box boxes[] = {{1, 2, 3, 4, 0}, {5, 6, 7, 8, 1}};
  Record record{.id = 1, .encoding = Encoding::image, .label = 4, .boxes = boxes, .region = {1, 1, 3, 3, -1}};
  PictureCache cache(3, plenty);
  const Image image = noise_picture(8, 6, 3);
  cache.keep(record, crop(image.view(), {2, 3, 4, 2}));
  CHECK_FALSE(cache.find(0));
  const auto kept = cache.find(1);
  REQUIRE(kept);
  CHECK(kept->encoding == Encoding::pixels);
  CHECK(kept->height == 4);
  CHECK(kept->width == 2);
  CHECK(kept->label == 4);
  CHECK(kept->region.x1 == 3);
  REQUIRE(kept->boxes.size() == 2);
  CHECK(kept->boxes[1].y1 == 8);
  for (int y = 0; y < 4; ++y) CHECK(std::memcmp(kept->bytes.data() + 6 * y, image.view().row(3 + y) + 6, 6) == 0);
}

TEST_CASE("the budget holds, whoever keeps at once") {
  constexpr std::uint64_t records = 200, budget = 100'000;
  PictureCache cache(records, budget);
  const Image image = noise_picture(20, 50, 1);  // 1,000 bytes
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t id = 0; id < records; ++id) cache.keep({.id = id, .encoding = Encoding::image}, image.view());
    });
  threads.clear();
  std::uint64_t kept = 0;
  for (std::uint64_t id = 0; id < records; ++id) kept += cache.find(id).has_value();
  CHECK(kept * 1'000 <= budget);
  CHECK(kept >= 80);  // what is beside the pixels takes less than a fifth
}

TEST_CASE("a damaged picture is bad each time, wherever the damage is") {
  auto items = jpegs();
  items[0].bytes.resize(items[0].bytes.size() * 9 / 10);  // behind what most crops ask for
  const auto dataset = with_picture_cache(std::make_unique<MemoryDataset>(items), plenty);
  const auto sampler = classify(*dataset, "ignore");
  std::vector<std::byte> image(sampler->fields()[0].row_bytes());
  std::int64_t label = 0;
  std::byte* row[] = {image.data(), reinterpret_cast<std::byte*>(&label)};
  ReadBuffer buffer;
  for (std::uint64_t position = 0; position < 20; ++position) {
    Stream random(1, Purpose::sample, position);
    CHECK_THROWS_AS(sampler->sample(dataset->read(0, buffer), random, row), SampleError);
  }
}

TEST_CASE("a remote data set is no longer told what comes") {
  Counted counted(plenty);
  CHECK_FALSE(counted.dataset->takes_hints());
  counted.dataset->hint(1);
  counted.dataset->prefetch(1);
  CHECK(counted.reported == 0);
  CHECK(counted.dataset->retries() == 7);
}

}  // namespace flowtrain::picture_cache_test
