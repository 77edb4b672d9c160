#include "pipeline/runs/report_page/log_warnings.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace flowtrain::log_warnings_test {

namespace {

std::string line(const std::string& text, const std::string& level = "warning") {
  return "2026-01-01 00:00:01.000 " + level + std::string(8 - level.size(), ' ') + text + "\n";
}

}  // namespace

TEST_CASE("log warnings: each text once, and only what is new is read") {
  TempFolder folder;
  const auto log = folder.write("train.log", line("a") + line("b", "info") + line("c", "error") + "a stack\n");
  LogWarnings warnings(log);
  warnings.update();
  std::ofstream(log, std::ios::app) << line("a");
  warnings.update();
  warnings.update();
  const auto json = warnings.json();
  CHECK(json["count"] == 3);
  REQUIRE(json["lines"].size() == 2);
  CHECK(
      json["lines"][0] ==
      nlohmann::ordered_json({{"time", "2026-01-01 00:00:01.000"}, {"level", "warning"}, {"text", "a"}, {"times", 2}}));
  CHECK(json["lines"][1]["level"] == "error");
}

TEST_CASE("log warnings: of many texts the 100 that came last are kept") {
  TempFolder folder;
  std::string text = line("often");
  for (int i = 0; i < 250; ++i) text += line("text " + std::to_string(i)) + line("often");
  LogWarnings warnings(folder.write("train.log", text));
  warnings.update();
  const auto json = warnings.json();
  CHECK(json["count"] == 501);
  REQUIRE(json["lines"].size() == 100);
  CHECK(json["lines"][0]["text"] == "often");
  CHECK(json["lines"][0]["times"] == 251);
  CHECK(json["lines"][99]["text"] == "text 249");
}

}  // namespace flowtrain::log_warnings_test
