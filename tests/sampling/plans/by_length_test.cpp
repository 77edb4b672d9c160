#include "sampling/plans/by_length.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/drawn_lengths.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::by_length_test {
namespace {

std::vector<std::uint32_t> sorted_stably(const std::vector<std::uint32_t>& lengths) {
  std::vector<std::uint32_t> records(lengths.size());
  std::iota(records.begin(), records.end(), 0);
  std::ranges::stable_sort(records, {}, [&](auto record) { return lengths[record]; });
  return records;
}

TEST_CASE("records by length: equal lengths stay in the order of the records, whatever the lengths are") {
  for (const auto size : set_sizes)
    for (const auto& lengths : sets_of_lengths(size)) CHECK(records_by_length(lengths) == sorted_stably(lengths));
  for (const std::uint32_t most : {1u, 65'535u, 65'536u, 1u << 20, ~0u - 1})
    for (const std::uint32_t span : {1u, 100u, most}) {
      const auto lengths = uniform_lengths(3000, most - span, most);
      CHECK(records_by_length(lengths) == sorted_stably(lengths));
    }
  CHECK_THROWS_AS(records_by_length({}), InternalError);
  const std::uint32_t one = 1;  // the number is refused before any length is read
  const auto failure = failure_of([&] { records_by_length({&one, std::uint64_t{1} << 32}); });
  check_failure(failure, ExitCode::usage, "less than 2^32 records; there are 4294967296");
}

TEST_CASE("records by length: the beginning of a length is found before any end") {
  const auto lengths = uniform_lengths(300, 0, 40);
  const auto sorted = records_by_length(lengths);
  for (std::size_t end = 1; end <= sorted.size(); ++end)
    for (std::uint32_t length = 0; length <= lengths[sorted[end - 1]]; ++length) {
      const auto first =
          std::find_if(sorted.begin(), sorted.end(), [&](auto record) { return lengths[record] >= length; });
      REQUIRE(begin_of_length(sorted, lengths, end, length) == static_cast<std::size_t>(first - sorted.begin()));
    }
}

}  // namespace
}  // namespace flowtrain::by_length_test
