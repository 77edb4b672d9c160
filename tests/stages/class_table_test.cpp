#include "stages/evaluation/class_table.h"

#include <doctest/doctest.h>

#include "stages/evaluation/metric_names.h"

namespace flowtrain::class_table_test {

TEST_CASE("what was taken for what, for files and people") {
  const ClassTable table{{"cat", "dog, \"big\""}, {10, 2, 0, 345}};
  CHECK(to_csv(table) == "label,cat,\"dog, \"\"big\"\"\"\ncat,10,2\n\"dog, \"\"big\"\"\",0,345\n");
  CHECK(to_lines(table) == std::vector<std::string>{"                0    1",  //
                                                    "0 cat          10    2",  //
                                                    "1 dog, \"big\"    0  345"});
  CHECK(to_csv({}) == "label\n");
  CHECK(to_lines({}).size() == 1);
}

TEST_CASE("which metric a metric is of, whatever set and group it names") {
  const std::vector<std::string> metrics{"f1", "f1_micro", "perplexity"};
  for (const char* scalar : {"f1", "night.f1", "f1.cat", "night.f1.cat", "f1.dr. who", "f1.loss"})
    CHECK(metric_of(scalar, metrics) == "f1");
  CHECK(metric_of("f1_micro.3", metrics) == "f1_micro");
  CHECK(metric_of("night.perplexity.cat", metrics) == "perplexity");
  CHECK(metric_of("night.loss", metrics) == "loss");
  for (const char* scalar : {"", "ap", "night.ap", "night", "f", "f1s"}) CHECK(metric_of(scalar, metrics).empty());
}

}  // namespace flowtrain::class_table_test
