// Images that are finished where they are sampled.

#include "stages/loader/finished_sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "stages/loader/slab.h"

namespace flowtrain::finished_sampler_test {
namespace {

/// The record's id; then two pictures of 2 × 3 pixels in two channels, and 12 bytes: the id, counted on.
class Counted final : public Sampler {
 public:
  std::vector<Field> fields() const override {
    const auto picture = [](const char* name) { return Field{name, DType::u8, {2, 3, 2}, {0.5, 0.25}, {0.5, 2}}; };
    return {{"id", DType::i64, {}}, picture("image"), picture("second_view"), {"code", DType::u8, {12}}};
  }
  void sample(const Record& record, Stream&, Row row) const override {
    std::memcpy(row[0], &record.id, sizeof record.id);
    for (std::uint64_t i = 0; i < 36; ++i) row[1 + i / 12][i % 12] = static_cast<std::byte>(record.id + i % 12);
  }
  bool takes_blocks() const override { return true; }
  void sample_rows(std::span<const Record* const> records, Row first) const override {
    Stream random(0, Purpose::sample, 0);
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::byte* row[] = {first[0] + i * 8, first[1] + i * 12, first[2] + i * 12, first[3] + i * 12};
      sample(*records[i], random, row);
    }
  }
};

TEST_CASE("pictures of bytes become f32, channel by channel, normalised; other fields stay") {
  const auto sampler = with_finished_images(std::make_unique<Counted>());
  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 4);
  for (const std::size_t picture : {1, 2}) {
    CHECK(fields[picture].dtype == DType::f32);
    CHECK(fields[picture].shape == std::vector<std::int64_t>{2, 2, 3});
    CHECK(fields[picture].mean.empty());
  }
  CHECK(fields[3].dtype == DType::u8);

  const Record records[] = {{.id = 7}, {.id = 100}};
  const Record* const both[] = {&records[0], &records[1]};
  std::vector<std::int64_t> ids(2), one_id(1);
  std::vector<float> views[] = {std::vector<float>(24), std::vector<float>(24)}, one_view(12), other_view(12);
  std::vector<std::byte> codes(24), one_code(12);
  const auto bytes_of = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  std::byte* first[] = {bytes_of(ids), bytes_of(views[0]), bytes_of(views[1]), codes.data()};
  REQUIRE(sampler->takes_blocks());
  sampler->sample_rows(both, first);
  CHECK(views[0] == views[1]);
  for (std::size_t i = 0; i < 2; ++i) {
    Stream random(0, Purpose::sample, i);
    std::byte* row[] = {bytes_of(one_id), bytes_of(one_view), bytes_of(other_view), one_code.data()};
    sampler->sample(records[i], random, row);
    CHECK(std::equal(one_view.begin(), one_view.end(), views[0].data() + i * 12));
    CHECK(one_view == other_view);
    CHECK(std::equal(one_code.begin(), one_code.end(), codes.data() + i * 12));
    const std::uint64_t id = records[i].id;
    CHECK(one_id[0] == static_cast<std::int64_t>(id));
    CHECK(one_code[5] == static_cast<std::byte>(id + 5));
    for (std::uint64_t pixel = 0; pixel < 6; ++pixel) {
      CHECK(one_view[pixel] == doctest::Approx((static_cast<double>(id + 2 * pixel) / 255 - 0.5) / 0.5));
      CHECK(one_view[6 + pixel] == doctest::Approx((static_cast<double>(id + 2 * pixel + 1) / 255 - 0.25) / 2));
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

TEST_CASE("a sampler without pictures of bytes comes back as it is") {
  struct Numbers final : Sampler {
    std::vector<Field> fields() const override {
      return {{"map", DType::i64, {2, 3, 2}}, {"heat", DType::f32, {2, 3, 2}}, {"code", DType::u8, {12}}};
    }
    void sample(const Record&, Stream&, Row) const override {}
  };
  std::unique_ptr<Sampler> sampler = std::make_unique<Numbers>();
  const Sampler* const before = sampler.get();
  CHECK(with_finished_images(std::move(sampler)).get() == before);
  CHECK(with_finished_images(std::make_unique<Counted>(), false)->fields()[2].dtype == DType::u8);
}

}  // namespace
}  // namespace flowtrain::finished_sampler_test
