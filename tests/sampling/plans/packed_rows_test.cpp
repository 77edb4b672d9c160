#include "sampling/plans/packed_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/support/drawn_lengths.h"

namespace flowtrain::packed_rows_test {
namespace {

using Row = std::vector<PackedPiece>;

Row row_of(const PackedRows& plan, std::uint64_t epoch, std::uint64_t index) {
  Row pieces;
  plan.row(epoch, index, pieces);
  return pieces;
}

std::vector<Row> epoch_of(const PackedRows& plan, std::uint64_t epoch) {
  std::vector<Row> rows;
  for (std::uint64_t index = 0; index < plan.rows(); ++index) rows.push_back(row_of(plan, epoch, index));
  return rows;
}

/// Requires each record once, whole if it fits, at positions of its own.
void require_exact(const std::vector<Row>& rows, const std::vector<std::uint32_t>& lengths, std::uint32_t row_length) {
  std::vector<int> counts(lengths.size());
  for (const auto& row : rows) {
    REQUIRE(!row.empty());
    std::uint64_t end = 0;
    for (const auto& piece : row) {
      REQUIRE(piece.begin == end);
      REQUIRE(piece.length == std::clamp(lengths.at(piece.id), 1u, row_length));
      end += piece.length;
      ++counts[piece.id];
    }
    REQUIRE(end <= row_length);
  }
  REQUIRE(counts == std::vector<int>(lengths.size(), 1));
}

/// Best-fit decreasing, a piece at a time; returns the number of rows.
std::size_t rows_one_by_one(std::vector<std::uint32_t> lengths, std::uint32_t row_length) {
  std::ranges::sort(lengths, std::greater());
  std::multiset<std::uint32_t> rooms;
  for (const auto length : lengths) {
    const auto found = rooms.lower_bound(length);
    const auto room = found == rooms.end() ? row_length : *found;
    if (found != rooms.end()) rooms.erase(found);
    rooms.insert(room - length);
  }
  return rooms.size();
}

TEST_CASE("best fit: as many rows as a piece at a time makes, and each piece has a place") {
  for (const std::uint32_t row_length : {1u, 2u, 10u, 64u, 100u})
    for (const std::uint64_t records : {1, 2, 5, 50, 500})
      for (const std::uint64_t seed : {1, 2, 3}) {
        const auto lengths = uniform_lengths(records, 1, row_length, seed);
        std::vector<PieceClass> classes;
        for (std::uint32_t length = row_length; length > 0; --length)
          if (const auto pieces = std::ranges::count(lengths, length); pieces > 0)
            classes.push_back({length, static_cast<std::uint64_t>(pieces)});
        const auto templates = best_fit_decreasing(classes, row_length);
        std::vector<std::vector<int>> counts;
        for (const auto& each : classes) counts.emplace_back(each.pieces);
        std::uint64_t rows = 0;
        for (const auto& each : templates) {
          REQUIRE(each.first_row == rows);
          rows += each.rows;
          std::uint64_t filled = 0;
          for (const auto& [of, count, first] : each.parts) {
            filled += std::uint64_t{count} * classes[of].length;
            for (std::uint64_t piece = 0; piece < count * each.rows; ++piece) ++counts[of].at(first + piece);
          }
          REQUIRE(filled <= row_length);
        }
        for (const auto& each : counts) REQUIRE(each == std::vector<int>(each.size(), 1));
        REQUIRE(rows == rows_one_by_one(lengths, row_length));
        REQUIRE(templates.size() <= 2 * classes.size());
      }
}

TEST_CASE("packed rows: an epoch has each record once, none cut that fits, none over another") {
  std::uint64_t plans = 0;
  for (const auto size : set_sizes)
    for (const auto& lengths : sets_of_lengths(size))
      for (const std::uint32_t row_length : {1, 7, 20, 2048})
        for (const bool shuffled : {true, false}) {
          const PackedRows plan(lengths, {row_length, 3, shuffled});
          const auto rows = epoch_of(plan, ++plans % 3);
          require_exact(rows, lengths, row_length);
          std::uint64_t most = 0, positions = 0;
          for (const auto& row : rows) {
            most = std::max(most, row.size());
            positions += row.back().begin + row.back().length;
          }
          REQUIRE(most == plan.most_pieces());
          REQUIRE(plan.filled() == doctest::Approx(static_cast<double>(positions) / row_length / rows.size()));
        }
}

TEST_CASE("packed rows: a record of any length has a place, also one of none and one that is too long") {
  const std::vector<std::uint32_t> lengths{0, 1, 63, 64, 65, 1000, 0, ~0u};
  const PackedRows plan(lengths, {64});
  require_exact(epoch_of(plan, 0), lengths, 64);
  CHECK(plan.rows() == 6);  // four are full, one has 63 + 1, and one the rest
}

TEST_CASE("packed rows: rows are filled by 97 % and more") {
  for (const std::uint64_t records : {20'000, 100'000})
    for (const auto& lengths : {lognormal_lengths(records), uniform_lengths(records, 1, 2048)}) {
      const PackedRows plan(lengths, {2048});
      CHECK(plan.filled() >= 0.97);
      CHECK(plan.bytes() < 4 * records + 1'000'000);
      require_exact(epoch_of(plan, 2), lengths, 2048);
    }
  const std::vector<std::uint32_t> lengths{510, 511, 512, 513, 514, 512};
  const PackedRows halves(lengths, {1024});
  CHECK(halves.rows() == 3);  // 514 + 510, 513 + 511, 512 + 512
  CHECK(halves.classes() == 5);
}

TEST_CASE("packed rows: rare lengths share a class, so that a place has a choice") {
  const auto lengths = uniform_lengths(20'000, 1, 2048);  // ten of each
  const PackedRows plan(lengths, {2048});
  CHECK(plan.classes() < 600);
  const auto id = static_cast<std::uint64_t>(std::ranges::find(lengths, 1500) - lengths.begin());
  std::set<std::uint64_t> companions;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch)
    for (const auto& row : epoch_of(plan, epoch))
      if (std::ranges::count(row, id, &PackedPiece::id))
        for (const auto& piece : row) companions.insert(piece.id);
  CHECK(companions.size() > 10);
}

TEST_CASE("packed rows: a row depends on the seed, the epoch and the index alone") {
  const auto lengths = lognormal_lengths(3000);
  const PackedRows plan(lengths, {2048, 9}), again(lengths, {2048, 9}), other_seed(lengths, {2048, 10});
  const auto first = epoch_of(plan, 5);
  std::uint64_t as_before = 0, as_with_seed = 0;
  for (std::uint64_t index = plan.rows(); index-- > 0;) {
    row_of(again, index, index);
    REQUIRE(row_of(again, 5, index) == first[index]);
    as_before += row_of(plan, 6, index) == first[index];
    as_with_seed += row_of(other_seed, 5, index) == first[index];
  }
  CHECK(other_seed.rows() == plan.rows());
  CHECK(as_before <= first.size() / 20);
  CHECK(as_with_seed <= first.size() / 20);
}

TEST_CASE("packed rows: without a shuffle, all epochs are equal and equal lengths keep their order") {
  const auto lengths = lognormal_lengths(3000);
  const PackedRows plan(lengths, {.row_length = 2048, .shuffled = false});
  CHECK(epoch_of(plan, 0) == epoch_of(plan, 1));
  const std::vector<std::uint32_t> fives(5, 500);
  const PackedRows equal(fives, {.row_length = 1000, .shuffled = false});
  CHECK(epoch_of(equal, 3) ==
        std::vector<Row>{{{0, 0, 500}, {1, 500, 500}}, {{2, 0, 500}, {3, 500, 500}}, {{4, 0, 500}}});
}

TEST_CASE("packed rows: an order stays as it is") {
  const auto lengths = uniform_lengths(40, 1, 9);
  const PackedRows plan(lengths, {16, 42});
  CHECK(plan.rows() == 14);
  CHECK(row_of(plan, 1, 0) == Row{{12, 0, 9}, {17, 9, 7}});
  CHECK(row_of(plan, 1, 1) == Row{{4, 0, 4}, {9, 4, 3}, {2, 7, 3}, {38, 10, 3}, {30, 13, 3}});
}

}  // namespace
}  // namespace flowtrain::packed_rows_test
