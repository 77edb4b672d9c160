#include "pipeline/runs/serve/run_folders.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/temp_folder.h"

namespace flowtrain::run_folders_test {

using namespace flowtrain::serve;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (auto& run : find_runs(folder)) names.push_back(run.name);
  return names;
}

}  // namespace

TEST_CASE("runs are found in a folder and below, and a run's own folder is one") {
  const TempFolder folder;
  folder.write("runs/b/config.toml", "");
  folder.write("runs/a/config.toml", "");
  folder.write("runs/lenet/one/config.toml", "");
  folder.write("runs/a/inner/config.toml", "");  // in a run
  folder.write("runs/no_run/text", "");
  folder.write("runs/.hidden/config.toml", "");
  fs::create_directory_symlink(folder.path() / "runs" / "a", folder.path() / "runs" / "linked");
  CHECK(names_in(folder.path() / "runs") == std::vector<std::string>{"a", "b", "lenet/one"});
  CHECK(names_in(folder.path() / "runs" / "a") == std::vector<std::string>{"a"});
}

TEST_CASE("a run with a link that leads out is left out") {
  const TempFolder folder;
  folder.write("secret", "secret");
  folder.write("runs/a/config.toml", "");
  folder.write("runs/a/snapshots/iter-1/x", "");
  fs::create_directory_symlink("iter-1", folder.path() / "runs/a/snapshots/best");
  folder.write("runs/b/config.toml", "");
  fs::create_symlink("../../secret", folder.path() / "runs/b/env.json");
  folder.write("runs/c/config.toml", "");
  folder.write("runs/c/pictures/iter-1/00.png", "");
  fs::create_symlink(folder.path() / "secret", folder.path() / "runs/c/pictures/iter-1/pictures.json");
  CHECK(names_in(folder.path() / "runs") == std::vector<std::string>{"a"});
}

TEST_CASE("only files of known kinds are read, and no links") {
  const TempFolder folder;
  const auto run = folder.path() / "run";
  folder.write("secret", "secret");
  folder.write("run/metrics.jsonl", "{}\n");
  folder.write("run/pictures/iter-1/00.png", "PNG");
  folder.write("run/pictures/iter-1/x.html", "<script>");
  folder.write("run/snapshots/iter-1/state.json", "{}");
  folder.write("run/notes.txt", "notes");
  const auto metrics = open_served_file(run, {"metrics.jsonl"});
  REQUIRE(metrics);
  CHECK(metrics->size_bytes == 3);
  CHECK(metrics->part(0) == "{}\n");
  CHECK(metrics->part(3).empty());
  CHECK(metrics->type == "application/x-ndjson");
  CHECK(open_served_file(run, {"pictures", "iter-1", "00.png"})->type == "image/png");
  CHECK(!open_served_file(run, {"pictures", "iter-1", "x.html"}));
  CHECK(!open_served_file(run, {"pictures", "iter-1"}));
  CHECK(!open_served_file(run, {"snapshots", "iter-1", "state.json"}));
  CHECK(!open_served_file(run, {"notes.txt"}));
  CHECK(!open_served_file(run, {"env.json"}));
  CHECK(!open_served_file(run, {"pictures", "..", "secret.png"}));
  fs::create_symlink(folder.path() / "secret", run / "env.json");
  CHECK(!open_served_file(run, {"env.json"}));
  fs::create_directory_symlink(folder.path(), run / "pictures" / "out");
  folder.write("secret.png", "secret");
  CHECK(!open_served_file(run, {"pictures", "out", "secret.png"}));
  REQUIRE(::mkfifo((run / "result.json").c_str(), 0600) == 0);
  CHECK(!open_served_file(run, {"result.json"}));
  fs::create_directory(run / "config.toml");
  CHECK(!open_served_file(run, {"config.toml"}));
}

}  // namespace flowtrain::run_folders_test
