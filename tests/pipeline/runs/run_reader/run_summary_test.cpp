#include "pipeline/runs/run_reader/run_summary.h"

#include <doctest/doctest.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/runs/run_reader/run_history.h"
#include "pipeline/runs/run_reader/run_status.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::run_summary_test {

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
  REQUIRE(history.train().at("loss").points().size() == 2);  // null is no value
  CHECK(history.train().at("loss").points()[1].iteration == 30);
  CHECK(history.train().at("loss").points()[1].value == 0.75);
  CHECK(history.val().at("accuracy").points().size() == 2);
  CHECK(history.newest("epoch")["iter"] == 20);
  CHECK(history.newest("end").is_null());
  CHECK(!history.update());

  std::ofstream(file, std::ios::app) << "ain\",\"iter\":40,\"loss\":0.5}\n";
  int lines = 0;
  CHECK(history.update([&](auto&) { ++lines; }));
  CHECK(lines == 1);
  CHECK(history.train().at("loss").points().back().value == 0.5);

  folder.write("metrics.jsonl", train_lines);  // cut back
  CHECK(history.update());
  CHECK(history.train().at("loss").points().size() == 2);
}

TEST_CASE("the summary of a run that was killed, resumed, interrupted and done") {
  const TempFolder folder;
  folder.write("config.toml", "[run]\nmax_iter = 0\nmax_epochs = 3\n[val]\nmetrics = [\"accuracy\"]\n");
  const auto file = folder.write("metrics.jsonl", train_lines);
  folder.write("snapshots/iter-00000010/state.json", "{}");
  folder.write("graph.json", R"({"metrics":{"accuracy":"max"},"best":{"best":{"metric":"accuracy","mode":"max"}}})");
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
  folder.write("result.json",
               R"({"iteration":30,"ended":"stopped","best":{"metric":"accuracy","value":0.75,"iteration":30}})");
  CHECK(watcher.summary().status == RunStatus::stopped);
  CHECK(watcher.summary().best->value == 0.75);  // the run itself says so
  std::ofstream(file, std::ios::app) << "{\"kind\":\"train\",\"iter\":40,\"loss\":0.5}\n";
  CHECK(watcher.summary().status == RunStatus::failed);  // the result is of an earlier start
  std::ofstream(file, std::ios::app) << "{\"kind\":\"end\",\"iter\":60,\"params_xxh64\":\"0\"}\n";
  summary = watcher.summary();
  CHECK(summary.status == RunStatus::done);
  CHECK(summary.iteration == 60);
}

TEST_CASE("a lock is of the file's device, too") {
  const std::string locks =
      "1: FLOCK  ADVISORY  WRITE 4711 08:01:131415 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 4712 08:01:77 0 EOF\n"
      "3: POSIX  ADVISORY  READ  4711 08:01:88 0 EOF\n";
  const auto lists = [&](unsigned major, unsigned minor, ino_t inode, bool any_device) {
    std::istringstream text(locks);
    return lists_lock(text, makedev(major, minor), inode, any_device);
  };
  CHECK(lists(8, 1, 131415, false));
  CHECK(!lists(8, 2, 131415, false));
  CHECK(lists(8, 2, 131415, true));  // overlay
  CHECK(!lists(8, 1, 1415, true));
  CHECK(!lists(8, 1, 77, false));  // waits
  CHECK(!lists(8, 1, 88, false));  // of another kind
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
  CHECK(status_of(folder.path(), 30, false).status == RunStatus::running);
  CHECK(status_of(folder.path(), 30, true).status == RunStatus::done);
  CHECK(seems_running(folder.path()));
  std::filesystem::last_write_time(folder.path() / "metrics.jsonl",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::seconds(121));
  CHECK(!seems_running(folder.path()));
}

TEST_CASE("a series has bounded memory, and keeps its spikes") {
  MetricSeries series;
  const std::size_t lines = 5 * MetricSeries::most_points;
  for (std::size_t i = 0; i < lines; ++i) series.add(static_cast<double>(i), i == 12345 ? 100 : 1);
  const auto& points = series.points();
  CHECK(points.size() <= MetricSeries::most_points);
  CHECK(points.size() >= MetricSeries::most_points / 2);
  CHECK(points.front().iteration < 8);
  CHECK(points.back().iteration > static_cast<double>(lines) - 9);
  CHECK(std::ranges::count(points, 100, &MetricPoint::high) == 1);
  CHECK(std::ranges::count(points, 1, &MetricPoint::low) == static_cast<std::ptrdiff_t>(points.size()));
}

}  // namespace flowtrain::run_summary_test
