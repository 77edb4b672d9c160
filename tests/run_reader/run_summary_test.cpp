#include "pipeline/run_reader/run_summary.h"

#include <doctest/doctest.h>

#include <fstream>

#include "pipeline/config/run_folder.h"
#include "pipeline/run_reader/run_history.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;

namespace {

const std::string train_lines =
    "{\"kind\":\"train\",\"iter\":10,\"epoch\":1,\"loss\":1.5,\"samples_per_s\":100.0}\n"
    "{\"kind\":\"val\",\"iter\":10,\"loss\":1.25,\"accuracy\":0.5}\n"
    "{\"kind\":\"epoch\",\"iter\":20,\"epoch\":1,\"loss\":1.0}\n"
    "{\"kind\":\"train\",\"iter\":20,\"epoch\":1,\"loss\":null,\"samples_per_s\":110.0}\n"
    "{\"kind\":\"val\",\"iter\":20,\"loss\":1.125,\"accuracy\":0.25}\n"
    "{\"kind\":\"train\",\"iter\":30,\"epoch\":2,\"loss\":0.75,\"samples_per_s\":120.0}\n";

}  // namespace

TEST_CASE("the history has the values of each field, and follows the file") {
  const TempFolder folder;
  const auto file = folder.write("metrics.jsonl", train_lines + "no JSON\n{\"kind\":7}\n[]\n{\"kind\":\"tr");
  RunHistory history(folder.path());
  CHECK(history.update());
  REQUIRE(history.train().at("loss").size() == 2);  // null is no value
  CHECK(history.train().at("loss")[1].iteration == 30);
  CHECK(history.train().at("loss")[1].value == 0.75);
  CHECK(history.val().at("accuracy").size() == 2);
  CHECK(history.newest("epoch")["iter"] == 20);
  CHECK(history.newest("end").is_null());
  CHECK(!history.update());

  std::ofstream(file, std::ios::app) << "ain\",\"iter\":40,\"loss\":0.5}\n";
  int lines = 0;
  CHECK(history.update([&](auto&) { ++lines; }));
  CHECK(lines == 1);
  CHECK(history.train().at("loss").back().value == 0.5);

  folder.write("metrics.jsonl", train_lines);  // cut back
  CHECK(history.update());
  CHECK(history.train().at("loss").size() == 2);
}

TEST_CASE("the summary of a run that was killed, resumed, interrupted and done") {
  const TempFolder folder;
  folder.write("config.toml", "[run]\nmax_iter = 0\nmax_epochs = 3\n[val]\nmetrics = [\"accuracy\"]\n");
  const auto file = folder.write("metrics.jsonl", train_lines);
  folder.write("snapshots/iter-00000010/state.json", "{}");
  std::filesystem::create_directory_symlink("iter-00000010", folder.path() / "snapshots" / "best");
  RunWatcher watcher(folder.path());
  auto summary = watcher.summary();
  CHECK(summary.status == RunStatus::failed);
  CHECK(summary.iteration == 30);
  CHECK(summary.last_iteration == 60);
  CHECK(summary.loss == 0.75);
  CHECK(summary.samples_per_s == 120.0);
  REQUIRE(summary.best);
  CHECK(summary.best->metric == "accuracy");
  CHECK(summary.best->value == 0.5);
  CHECK(summary.best->iteration == 10);
  CHECK(summary.age_s);
  {
    const auto locked = RunFolder::open(folder.path());
    CHECK(watcher.summary().status == RunStatus::running);
  }
  folder.write("result.json", "{\"iteration\": 30, \"ended\": \"interrupted\"}");
  CHECK(watcher.summary().status == RunStatus::interrupted);
  std::ofstream(file, std::ios::app) << "{\"kind\":\"train\",\"iter\":40,\"loss\":0.5}\n";
  CHECK(watcher.summary().status == RunStatus::failed);  // the result is of an earlier start
  std::ofstream(file, std::ios::app) << "{\"kind\":\"end\",\"iter\":60,\"params_xxh64\":\"0\"}\n";
  summary = watcher.summary();
  CHECK(summary.status == RunStatus::done);
  CHECK(summary.iteration == 60);
}

TEST_CASE("a folder that holds no run, and one that has only begun") {
  const TempFolder folder;
  CHECK(RunWatcher(folder.path() / "none").summary().status == RunStatus::failed);
  folder.write("config.toml", "[run");
  const auto summary = RunWatcher(folder.path()).summary();
  CHECK(summary.iteration == 0);
  CHECK(!summary.loss);
  CHECK(!summary.best);
  CHECK(!summary.last_iteration);
}

TEST_CASE("a run on another machine is running while it writes") {
  const TempFolder folder;
  folder.write("env.json", "{\"host\": \"another-host.example\"}");
  folder.write("metrics.jsonl", train_lines);
  CHECK(RunWatcher(folder.path()).summary().status == RunStatus::running);
}
