#include "stages/torch/parallel/collective_log.h"

#include <doctest/doctest.h>

namespace flowtrain::collective_log_test {

TEST_CASE("a process tells what it did last with the others, before its first iteration, too") {
  CollectiveLog record;
  CHECK(record.position().text == "the start");
  const auto sum = record.enter("a sum");
  CHECK(record.position().text == "the start, in a sum (collective 1)");
  record.leave(sum);
  CHECK(record.position().text == "the start, after a sum (collective 1)");
  record.at_iteration(57);
  CHECK(record.position().text == "iteration 57, after a sum (collective 1)");
}

TEST_CASE("of a collective within another one the innermost that goes on is told, and each keeps its number") {
  CollectiveLog record;
  const auto outer = record.enter("the averaging of gradients"), inner = record.enter("the statistics of a batch");
  CHECK(record.position().text == "the start, in the statistics of a batch (collective 2)");
  record.leave(inner);
  CHECK(record.position().text == "the start, in the averaging of gradients (collective 1)");
  record.leave(outer);
  CHECK(record.position().entered == 2);
  CHECK(record.what(1) == "the averaging of gradients");
  CHECK(record.what(2) == "the statistics of a batch");
  CHECK_FALSE(record.what(0));
  CHECK_FALSE(record.what(3));
  for (std::size_t i = 0; i < CollectiveLog::kept; ++i) record.leave(record.enter("a sum"));
  CHECK_FALSE(record.what(2));
  CHECK(record.what(3) == "a sum");
}

}  // namespace flowtrain::collective_log_test
