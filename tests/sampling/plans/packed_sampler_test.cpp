#include "sampling/plans/packed_sampler.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/failure_helper.h"

namespace flowtrain::packed_sampler_test {
namespace {

using Ints = std::vector<std::int32_t>;

/// Makes rows of ones that may be shorter than measured, as those at another speed are, and that state their lengths.
class ShorterRows final : public Sampler {
 public:
  ShorterRows(std::int64_t measured, std::vector<std::int64_t> lengths)
      : measured_(measured), lengths_(std::move(lengths)) {}

  std::vector<Field> fields() const override {
    std::vector<Field> fields;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      fields.push_back({.name = "wave" + std::to_string(i), .dtype = DType::i32, .shape = {8}, .free_axes = 1});
      fields.push_back({.name = fields.back().name + "_length", .dtype = DType::i64});
    }
    return fields;
  }
  void measure(const Record&, std::span<std::int64_t> extents) const override { std::ranges::fill(extents, measured_); }
  void sample(const Record&, Stream&, Row row) const override {
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      auto* const values = reinterpret_cast<std::int32_t*>(row[2 * i]);
      for (std::int64_t at = 0; at < row.extents()[i]; ++at) values[at] = at < lengths_[i] ? 1 : 0;
      std::memcpy(row[2 * i + 1], &lengths_[i], sizeof lengths_[i]);
    }
  }

 private:
  std::int64_t measured_;
  std::vector<std::int64_t> lengths_;
};

/// Returns the rows of all fields of a record that is packed into 6 places as segment 2.
std::vector<Ints> packed(std::int64_t measured, std::vector<std::int64_t> lengths) {
  const auto sampler = with_packed_rows(std::make_unique<ShorterRows>(measured, std::move(lengths)));
  const std::int64_t extent = 6;
  std::vector<Ints> rows(sampler->fields().size(), Ints(extent, 7));
  std::vector<std::byte*> starts;
  for (auto& row : rows) starts.push_back(reinterpret_cast<std::byte*>(row.data()));
  Stream random(1, Purpose::sample, 0);
  sampler->sample(Record{}, random, Row(starts, {&extent, 1}, 2));
  return rows;
}

}  // namespace

TEST_CASE("packed rows: positions and segments end with the length that a row states, not with the measured one") {
  CHECK(packed(5, {3}) == std::vector<Ints>{{1, 1, 1, 0, 0, 0}, {0, 1, 2, 0, 0, 0}, {2, 2, 2, 0, 0, 0}});
  CHECK(packed(5, {5}) == std::vector<Ints>{{1, 1, 1, 1, 1, 0}, {0, 1, 2, 3, 4, 0}, {2, 2, 2, 2, 2, 0}});
  CHECK(packed(9, {9}).back() == Ints(6, 2));  // of a substitute that is longer than its place
  CHECK(packed(5, {3, 3}).back() == Ints{2, 2, 2, 0, 0, 0});
}

TEST_CASE("packed rows: fields that state different lengths of a row are refused") {
  const std::string what = failure_of<SampleError>([] { packed(5, {3, 4}); }).what();
  CHECK(what == "the fields of a packed row state different lengths of it: 3 and 4 (wave1_length)");
}

}  // namespace flowtrain::packed_sampler_test
