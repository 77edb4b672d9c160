// Images that are finished where they are sampled.

#include "stages/finished_sampler.h"

#include <doctest/doctest.h>

#include <cstring>

#include "stages/slab.h"

namespace flowtrain {
namespace {

/// Images of 2 × 3 pixels in two channels: the record's id, counted on; and the id.
class Counted final : public Sampler {
 public:
  explicit Counted(bool image) : image_(image) {}
  std::vector<Field> fields() const override {
    return {{"id", DType::i64, {}}, {image_ ? "image" : "other", DType::u8, {2, 3, 2}, {0.5, 0.25}, {0.5, 2}}};
  }
  void sample(const Record& record, Stream&, Row row) const override {
    std::memcpy(row[0], &record.id, sizeof record.id);
    for (std::uint64_t i = 0; i < 12; ++i) row[1][i] = static_cast<std::byte>(record.id + i);
  }
  bool takes_blocks() const override { return true; }
  void sample_rows(std::span<const Record* const> records, Row first) const override {
    Stream random(0, Purpose::sample, 0);
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::byte* row[] = {first[0] + i * 8, first[1] + i * 12};
      sample(*records[i], random, row);
    }
  }

 private:
  bool image_;
};

TEST_CASE("an image becomes f32, channel by channel, normalised; other fields stay") {
  const auto sampler = with_finished_images(std::make_unique<Counted>(true));
  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[1].dtype == DType::f32);
  CHECK(fields[1].shape == std::vector<std::int64_t>{2, 2, 3});
  CHECK(fields[1].mean.empty());

  const Record records[] = {{.id = 7}, {.id = 100}};
  const Record* const both[] = {&records[0], &records[1]};
  std::vector<std::byte> ids(2 * 8), images(2 * fields[1].row_bytes()), one_id(8), one_image(fields[1].row_bytes());
  std::byte* first[] = {ids.data(), images.data()};
  REQUIRE(sampler->takes_blocks());
  sampler->sample_rows(both, first);
  for (std::size_t i = 0; i < 2; ++i) {
    Stream random(0, Purpose::sample, i);
    std::byte* row[] = {one_id.data(), one_image.data()};
    sampler->sample(records[i], random, row);
    CHECK(std::memcmp(one_image.data(), images.data() + i * one_image.size(), one_image.size()) == 0);
    std::uint64_t id = 0;
    std::memcpy(&id, one_id.data(), sizeof id);
    CHECK(id == records[i].id);
    std::vector<float> values(12);
    std::memcpy(values.data(), one_image.data(), one_image.size());
    for (std::uint64_t pixel = 0; pixel < 6; ++pixel) {
      CHECK(values[pixel] == doctest::Approx((static_cast<double>(id + 2 * pixel) / 255 - 0.5) / 0.5));
      CHECK(values[6 + pixel] == doctest::Approx((static_cast<double>(id + 2 * pixel + 1) / 255 - 0.25) / 2));
    }
  }
}

TEST_CASE("an image of f32 is finished: only its channels become the first axis, whether bytes are finished or not") {
  struct Finished final : Sampler {
    std::vector<Field> fields() const override { return {{"image", DType::f32, {2, 3, 2}}}; }
    void sample(const Record&, Stream&, Row row) const override {
      const float values[] = {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15};
      std::memcpy(row[0], values, sizeof values);
    }
  };
  for (const bool finish_bytes : {true, false}) {
    const auto sampler = with_finished_images(std::make_unique<Finished>(), finish_bytes);
    CHECK(sampler->fields()[0].shape == std::vector<std::int64_t>{2, 2, 3});
    std::vector<float> values(12);
    std::byte* row[] = {reinterpret_cast<std::byte*>(values.data())};
    Stream random(0, Purpose::sample, 0);
    sampler->sample({}, random, row);
    CHECK(values == std::vector<float>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  }
}

TEST_CASE("a sampler without an image of bytes comes back as it is") {
  auto sampler = std::make_unique<Counted>(false);
  const Sampler* const before = sampler.get();
  CHECK(with_finished_images(std::move(sampler)).get() == before);
}

}  // namespace
}  // namespace flowtrain
