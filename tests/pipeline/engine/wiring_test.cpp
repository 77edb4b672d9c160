#include "pipeline/engine/graph/wiring.h"

#include <doctest/doctest.h>

namespace flowtrain::wiring_test {

namespace flow = oneapi::tbb::flow;

namespace {

std::string edges_of(const Drawing& drawing) {
  std::string text;
  for (auto& [from, to, label] : drawing.edges)
    text += from + " > " + to + (label.empty() ? "" : " (" + label + ")") + "\n";
  return text;
}

}  // namespace

TEST_CASE("an edge and its line in the drawing come from one call") {
  flow::graph graph;
  int seen = 0;
  flow::multifunction_node<int, std::tuple<int, int>> split(graph, flow::serial, [](int value, auto& out) {
    if (value % 2 == 0)
      std::get<0>(out).try_put(value);
    else
      std::get<1>(out).try_put(value);
  });
  flow::function_node<int, int> even(graph, flow::serial, [](int value) { return 10 * value; });
  flow::function_node<int> last(graph, flow::serial, [&](int value) { seen += value; });
  Outlet<flow::function_node<int, int>> thread;
  Wiring wiring;
  wiring.add(&split, "split", "split\nby two");
  wiring.add(&even, "even", "even");
  wiring.add(&last, "last", "last", true);
  wiring.alias(&thread, "last");
  wiring.connect<0>(split, even);
  wiring.connect<1>(split, last, "odd");
  wiring.connect(even, last);
  wiring.connect(thread, even, "again");
  for (int value : {1, 2}) split.try_put(value);
  graph.wait_for_all();
  CHECK(seen == 21);
  CHECK(thread.to == &even);
  CHECK(edges_of(wiring.drawing()) == "split > even\nsplit > last (odd)\neven > last\nlast > even (again)\n");
  REQUIRE(wiring.drawing().nodes.size() == 3);
  CHECK(wiring.drawing().nodes[0].label == "split\nby two");
  CHECK(wiring.drawing().nodes[2].thread);
}

TEST_CASE("a line that wired itself becomes part of another drawing") {
  const Drawing line{{{"plan", "plan"}, {Wiring::loader_end, "compute", true}}, {{"plan", Wiring::loader_end, "rows"}}};
  Wiring wiring;
  wiring.include(line, "", Wiring::loader_end);
  wiring.include(line, "val ", "validate");
  CHECK(edges_of(wiring.drawing()) == "plan > compute (rows)\nval plan > validate (rows)\n");
  CHECK(wiring.drawing().nodes.size() == 3);
}

TEST_CASE("the drawing in Graphviz's language") {
  CHECK(to_dot({{{"a", "a \"b\"\nc", true}, {"d", "d"}}, {{"a", "d", "x"}, {"d", "a", ""}}}, "t") ==
        "digraph \"t\" {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n"
        "  \"a\" [label=\"a \\\"b\\\"\\nc\", peripheries=2];\n  \"d\" [label=\"d\"];\n"
        "  \"a\" -> \"d\" [label=\"x\"];\n  \"d\" -> \"a\";\n}\n");
}

}  // namespace flowtrain::wiring_test
