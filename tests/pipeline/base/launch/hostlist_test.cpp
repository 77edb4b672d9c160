#include "pipeline/base/launch/launchers.h"

#include <doctest/doctest.h>

#include <string>

#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/expect_error.h"

namespace flowtrain::hostlist_test {

using namespace flowtrain::testing;

TEST_CASE("the first host of a node list") {
  const struct {
    const char* list;
    const char* host;
  } cases[] = {
      {"gpu1", "gpu1"},
      {"b,a", "b"},
      {"gpu[3]", "gpu3"},
      {"gpu[01-03,07],cpu2-[1-2]x", "gpu01"},
      {"n[9-11]", "n9"},
      {"n[099-101]", "n099"},
      {"n[5,1-2]", "n5"},
      {"r[1-2]n[3-4]", "r1n3"},
      {"[1-2]", "1"},
      {"a[1-2]b[3]c,d.example.org", "a1b3c"},
      {"n[000000000-000000001]", "n000000000"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.list);
    CHECK(first_host(each.list) == each.host);
  }
}

TEST_CASE("a node list that has no first host is refused") {
  for (const std::string list :
       {"", ",a", "n[1-2", "n1-2]", "n[1[2]]", "n[", "n[]", "n[,1]", "n[a-b]", "n[-2]", "n[9999999999-2]"}) {
    expect_error(ExitCode::distributed, "the node list \"" + list + "\" has no first host", [&] { first_host(list); });
  }
}

TEST_CASE("tasks per node") {
  CHECK(tasks_on_node("4", 0) == 4);
  CHECK(tasks_on_node("2(x3),1", 0) == 2);
  CHECK(tasks_on_node("2(x3),1", 2) == 2);
  CHECK(tasks_on_node("2(x3),1", 3) == 1);
  CHECK(tasks_on_node("3,2(x2)", 2) == 2);

  const std::string start = "the list of tasks per node ";
  expect_error(ExitCode::distributed, start + "\"2(x3),1\" has no node 4", [] { tasks_on_node("2(x3),1", 4); });
  for (const char* list : {"", "x", "2,", "2(x)", "2(3)", "(x2)", "-1", "2(x2"}) {
    expect_error(ExitCode::distributed, start + "\"" + list + "\" is not of the form 2(x3),1",
                 [&] { tasks_on_node(list, 9); });
  }
}

}  // namespace flowtrain::hostlist_test
