#include "pipeline/base/telemetry/metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "sampling/core/error.h"
#include "tests/support/child.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::metrics_test {

using namespace flowtrain::testing;

namespace {

std::string line(const JsonObject& fields) { return json_line(metrics_event("train", fields)); }

}  // namespace

TEST_CASE("a line keeps the order of its keys and the bits of its numbers") {
  CHECK(line({}) == R"({"kind":"train"})");
  CHECK(line({{"iter", 20}, {"loss", 0.1}, {"done", true}, {"a", "text \"x\""}}) ==
        R"({"kind":"train","iter":20,"loss":0.1,"done":true,"a":"text \"x\""})");
  CHECK(
      line({{"big", std::numeric_limits<std::uint64_t>::max()}, {"small", std::numeric_limits<std::int64_t>::min()}}) ==
      R"({"kind":"train","big":18446744073709551615,"small":-9223372036854775808})");
  double third = 1.0 / 3;
  CHECK(std::stod(line({{"x", third}}).substr(std::string_view(R"({"kind":"train","x":)").size())) == third);
  CHECK(line({{"x", 1.0}}) == R"({"kind":"train","x":1.0})");
}

TEST_CASE("what JSON cannot say") {
  CHECK(line({{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}}) == R"({"kind":"train","a":null,"b":null,"c":null})");
  CHECK(line({{"path", "a\xff\n"}}) == "{\"kind\":\"train\",\"path\":\"a\uFFFD\\n\"}");
}

TEST_CASE("lines are appended, whole, from any thread") {
  TempFolder folder;
  auto path = folder.path() / "metrics.jsonl";
  folder.write("metrics.jsonl", "{}\n");
  {
    MetricsFile metrics(path);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) metrics.write("train", {{"iter", 1}, {"loss", 0.5}});
      });
    }
  }
  std::string expected = "{}\n";
  for (int i = 0; i < 400; ++i) expected += "{\"kind\":\"train\",\"iter\":1,\"loss\":0.5}\n";
  CHECK(read_text(path) == expected);
}

TEST_CASE("a file that cannot be opened is the user's error") {
  try {
    MetricsFile metrics("/proc/nowhere/metrics.jsonl");
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(std::string(error.what()) == "cannot open /proc/nowhere/metrics.jsonl: No such file or directory");
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("a full disk: one warning, the loss is counted, the caller goes on") {
  auto result = run_child(0, [] {
    MetricsFile metrics("/dev/full");
    for (int i = 0; i < 3; ++i) metrics.write("train", {{"iter", i}});
    return 0;
  });
  CHECK(result.exit_code == 0);
  CHECK(result.output ==
        "warning: cannot write /dev/full: No space left on device; training goes on, the file has a gap\n"
        "warning: /dev/full: 3 lines could not be written\n");
}

TEST_CASE("cutting back for a resume") {
  TempFolder folder;
  auto path = folder.path() / "metrics.jsonl";
  std::string kept =
      "{\"kind\":\"train\", \"iter\":10}\n"
      "{\"kind\":\"val\",\"iter\":20,\"loss\":null}\n"
      "{\"kind\":\"note\"}\n";
  auto check = [&](const std::string& rest, std::uint64_t removed) {
    folder.write("metrics.jsonl", kept + rest);
    CHECK(cut_back(path, 20) == removed);
    CHECK(read_text(path) == kept);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "metrics.jsonl.tmp"));
  };
  SUBCASE("nothing to remove") { check("", 0); }
  SUBCASE("later iterations") { check("{\"kind\":\"train\",\"iter\":21}\n{\"kind\":\"train\",\"iter\":22}\n", 2); }
  SUBCASE("an end, even of this iteration") { check("{\"kind\":\"end\",\"iter\":20}\n", 1); }
  SUBCASE("a torn last line") { check("{\"kind\":\"train\",\"it", 1); }
  SUBCASE("a last line that lacks only its newline") { check("{\"kind\":\"train\",\"iter\":20}", 1); }
  SUBCASE("damaged bytes") { check(std::string(100, '\0') + "\n[1]\n\n", 3); }
  SUBCASE("earlier lines behind later ones stay") {
    folder.write("metrics.jsonl", "{\"iter\":30}\n{\"iter\":5}\n");
    CHECK(cut_back(path, 20) == 1);
    CHECK(read_text(path) == "{\"iter\":5}\n");
  }
  SUBCASE("validations that will be done again") {
    const std::string training = "{\"kind\":\"train\",\"iter\":20}\n{\"split\":\"train\",\"iter\":20}\n";
    folder.write(
        "metrics.jsonl",
        training + "{\"kind\":\"val\",\"iter\":20}\n{\"split\":\"val\",\"iter\":15}\n{\"kind\":\"val\",\"iter\":14}\n");
    CHECK(cut_back(path, 20, 14) == 2);
    CHECK(read_text(path) == training + "{\"kind\":\"val\",\"iter\":14}\n");
  }
  SUBCASE("everything") {
    folder.write("metrics.jsonl", "{\"iter\":30}\n");
    CHECK(cut_back(path, 0) == 1);
    CHECK(read_text(path) == "");
  }
}

TEST_CASE("cutting back where there is no file, or no way to write") {
  TempFolder folder;
  CHECK(cut_back(folder.path() / "metrics.jsonl", 20) == 0);
  folder.write("metrics.jsonl", "{\"iter\":30}\n");
  std::filesystem::create_directory(folder.path() / "metrics.jsonl.tmp");
  try {
    cut_back(folder.path() / "metrics.jsonl", 20);
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::snapshot);
    CHECK(std::string(error.what()).starts_with("cannot write "));
  }
  CHECK(read_text(folder.path() / "metrics.jsonl") == "{\"iter\":30}\n");
}

}  // namespace flowtrain::metrics_test
