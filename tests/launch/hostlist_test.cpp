#include "pipeline/launch/hostlist.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "tests/launch/expect_error.h"

using namespace flowtrain;
using namespace flowtrain::testing;

TEST_CASE("a node list names all hosts in its order") {
  using Hosts = std::vector<std::string>;
  const struct {
    const char* list;
    Hosts hosts;
  } cases[] = {
      {"gpu1", {"gpu1"}},
      {"b,a", {"b", "a"}},
      {"gpu[3]", {"gpu3"}},
      {"gpu[01-03,07],cpu2-[1-2]x", {"gpu01", "gpu02", "gpu03", "gpu07", "cpu2-1x", "cpu2-2x"}},
      {"n[9-11]", {"n9", "n10", "n11"}},
      {"n[09-11]", {"n09", "n10", "n11"}},
      {"n[099-101]", {"n099", "n100", "n101"}},
      {"n[5,1-2]", {"n5", "n1", "n2"}},
      {"r[1-2]n[1-2]", {"r1n1", "r1n2", "r2n1", "r2n2"}},
      {"[1-2]", {"1", "2"}},
      {"a[1-2]b[3]c,d.example.org", {"a1b3c", "a2b3c", "d.example.org"}},
      {"n[000000000-000000001]", {"n000000000", "n000000001"}},
  };
  for (const auto& [list, hosts] : cases) {
    CAPTURE(list);
    CHECK(expand_hostlist(list) == hosts);
  }
  CHECK(expand_hostlist("n[1-1000000]").size() == 1'000'000);
}

TEST_CASE("what is no node list is refused") {
  const struct {
    const char* list;
    const char* what;
  } cases[] = {
      {"", "has an empty name"},
      {"a,,b", "has an empty name"},
      {"a,", "has an empty name"},
      {"n[1-2", "has unbalanced brackets"},
      {"n1-2]", "has unbalanced brackets"},
      {"n[1[2]]", "has unbalanced brackets"},
      {"n[", "has unbalanced brackets"},
      {"n[]", "has \"\", which is no range of numbers"},
      {"n[1,]", "has \"\", which is no range of numbers"},
      {"n[a-b]", "has \"a-b\", which is no range of numbers"},
      {"n[1-]", "has \"1-\", which is no range of numbers"},
      {"n[-2]", "has \"-2\", which is no range of numbers"},
      {"n[1-2-3]", "has \"1-2-3\", which is no range of numbers"},
      {"n[1-9999999999]", "has \"1-9999999999\", which is no range of numbers"},
      {"n[3-1]", "has the reversed range \"3-1\""},
      {"n[0-1000000]", "has more than a million hosts"},
      {"n[0-999999999]", "has more than a million hosts"},
      {"n[1-600000],m[1-600000]", "has more than a million hosts"},
      {"r[1-1001]n[1-1000]", "has more than a million hosts"},
  };
  for (const auto& [list, what] : cases) {
    expect_error(Exit::distributed, "the node list \"" + std::string(list) + "\" " + what,
                 [&] { expand_hostlist(list); });
  }
}

TEST_CASE("tasks per node") {
  CHECK(tasks_on_node("4", 0) == 4);
  CHECK(tasks_on_node("2(x3),1", 0) == 2);
  CHECK(tasks_on_node("2(x3),1", 2) == 2);
  CHECK(tasks_on_node("2(x3),1", 3) == 1);
  CHECK(tasks_on_node("3,2(x2)", 2) == 2);

  const std::string start = "the list of tasks per node ";
  expect_error(Exit::distributed, start + "\"2(x3),1\" has no node 4", [] { tasks_on_node("2(x3),1", 4); });
  for (const char* list : {"", "x", "2,", "2(x)", "2(3)", "(x2)", "-1", "2(x2"}) {
    expect_error(Exit::distributed, start + "\"" + list + "\" is not of the form 2(x3),1",
                 [&] { tasks_on_node(list, 9); });
  }
}
