#include "pipeline/base/telemetry/metrics_table.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::metrics_table_test {

namespace {
std::string metrics_csv(const std::filesystem::path& file, const std::string& kind) {
  std::string text;
  write_metrics_csv(file, kind, [&](const std::string& line) { text += line; });
  return text;
}
}  // namespace

TEST_CASE("lines of one kind become a table") {
  const TempFolder folder;
  folder.write("metrics.jsonl",
               "{\"kind\":\"train\",\"iter\":1,\"loss\":0.1}\n"
               "{\"kind\":\"val\",\"iter\":1,\"loss\":2.0,\"accuracy\":null,\"note\":\"a \\\"b\\\", c\"}\n"
               "{\"kind\":\"train\",\"iter\":2,\"lr.head\":1e-3,\"loss\":0.30000000000000004}\n"
               "{\"kind\":\"train\",\"ite");
  const auto file = folder.path() / "metrics.jsonl";
  CHECK(metrics_csv(file, "train") == "iter,loss,lr.head\n1,0.1,\n2,0.30000000000000004,0.001\n");
  CHECK(metrics_csv(file, "val") == "iter,loss,accuracy,note\n1,2.0,,\"a \"\"b\"\", c\"\n");
}

TEST_CASE("what is not there is told with what there is") {
  const TempFolder folder;
  folder.write("metrics.jsonl", "{\"kind\":\"train\",\"iter\":1}\n{\"kind\":\"end\",\"iter\":1}\n");
  try {
    metrics_csv(folder.path() / "metrics.jsonl", "val");
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(std::string(error.what()).find("no lines of kind 'val'") != std::string::npos);
    CHECK(error.hint() == "there are: end, train");
  }
  CHECK_THROWS_AS(metrics_csv(folder.path() / "none" / "metrics.jsonl", "val"), UserError);
}

TEST_CASE("texts that a spreadsheet would run are marked as texts, and numbers stay numbers") {
  const TempFolder folder;
  folder.write(
      "metrics.jsonl",
      "{\"kind\":\"val\",\"=x\":-0.5,\"a\":\"=1+1\",\"b\":\"-0.5\",\"c\":\"-cmd\",\"d\":\"@x, y\",\"e\":\"+4e3\","
      "\"f\":\"'=\",\"g\":\"-\"}\n");
  CHECK(metrics_csv(folder.path() / "metrics.jsonl", "val") ==
        "'=x,a,b,c,d,e,f,g\n-0.5,'=1+1,-0.5,'-cmd,\"'@x, y\",+4e3,'=,'-\n");
}

}  // namespace flowtrain::metrics_table_test
