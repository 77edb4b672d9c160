// `flowtrain verify`: runs that are the same, and the first thing by which others differ.

#include <doctest/doctest.h>

#include <sstream>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "tests/program/idx_files.h"
#include "tests/program/ranks.h"

namespace flowtrain::verify_test {
namespace {

using nlohmann::json;

const Words journal{"--set", "verify.every=1"};

Outcome verify(const TempRun& place, const std::string& a, const std::string& b, const Words& more = {}) {
  return place.run(with({"verify", a, b}, more));
}

void check_same(const TempRun& place, const std::string& a, const std::string& b, const std::string& compared) {
  const auto outcome = verify(place, a, b);
  CHECK_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, a + " and " + b + " are the same: " + compared);
}

/// Of `verify --json`, by name.
json part(const json& report, const std::string& name) {
  for (auto& each : report.at("compared"))
    if (each.at("part") == name) return each;
  return {};
}

/// A run of the 64 pictures of idx_config.
void train_on_idx(const TempRun& place, const std::string& run) {
  REQUIRE_EXIT(place.train(with(journal, {"--run-dir", run})), 0);
}

}  // namespace

TEST_CASE("verify: runs with other workers, and one that was killed and resumed, are the same") {
  const TempRun place;
  REQUIRE_EXIT(place.train(with(journal, {"--workers", "1", "--run-dir", "one"})), 0);
  REQUIRE_EXIT(place.train(with(journal, {"--workers", "4", "--run-dir", "four"})), 0);
  const std::string compared =
      "60 iterations compared, 1 to 60 (ids, image, label, loss, gradient norm, parameters, optimizer, validation)";
  check_same(place, "one", "four", compared);
  CHECK_PRINTS(verify(place, "one", "four"), "loader.workers: 1 / 4");

  const Words words = with(with({"tiny.toml"}, journal), {"--run-dir", "killed"});
  Process process(words, place.process_options());
  REQUIRE(process.wait_for_text("\"iter\":25,", place.path("killed/verify.jsonl")));
  process.send(SIGKILL);
  CHECK(process.wait().signal == SIGKILL);
  REQUIRE_EXIT(place.run(with(words, {"--resume", "auto"})), 0);
  check_same(place, "one", "killed", compared);
  CHECK(read_text(place.path("killed/verify.jsonl")) == read_text(place.path("one/verify.jsonl")));

  // Another journal does not change a run, nor does its absence.
  REQUIRE_EXIT(place.train({"--run-dir", "none"}), 0);
  CHECK(end_of(place.path("none")) == end_of(place.path("one")));
  CHECK_FALSE(fs::exists(place.path("none/verify.jsonl")));
  const auto outcome = verify(place, "one", "none");
  CHECK_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, "none has no journal of hashes");
}

TEST_CASE("verify: two processes see the samples and pixels of one, and round sums in another way") {
  const TempRun place;
  REQUIRE_EXIT(train(place, 1, "one", journal), 0);
  REQUIRE_EXIT(train(place, 2, "two", journal), 0);
  const auto outcome = verify(place, "one", "two", {"--json"});
  const json report = json::parse(outcome.out);
  for (const std::string name : {"ids", "image", "label"}) {
    CAPTURE(name);
    CHECK(part(report, name).at("iterations") == 60);
    CHECK(part(report, name).at("different") == 0);
  }
  CHECK(report.at("ranks_a") == 1);
  CHECK(report.at("ranks_b") == 2);
  CHECK(part(report, "loss").at("greatest_difference") < 1e-4);
  if (report.at("same").get<bool>()) return;
  CHECK_EXIT(outcome, 1);
  CHECK(report.at("first").at("likely_cause").get<std::string>().find("the number of processes (1 / 2)") == 0);
}

TEST_CASE("verify: a pixel of a sample is named, with its record and the way to see it") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  train_on_idx(place, "a");
  const std::string file = "idx/train-images-idx3-ubyte";
  std::string bytes = read_text(place.path(file));
  const std::size_t header = 16, pixel = 4 * 8 + 4;
  bytes[header + 17 * 64 + pixel] = static_cast<char>(bytes[header + 17 * 64 + pixel] + 1);
  place.folder().write(file, bytes);
  train_on_idx(place, "b");

  const auto outcome = verify(place, "a", "b");
  CHECK_EXIT(outcome, 1);
  CHECK_PRINTS(outcome, "a and b differ: at iteration ");
  CHECK_PRINTS(outcome, ", field 'image' of row ");
  CHECK_PRINTS(outcome, "  a: id 17, ");
  CHECK_PRINTS(outcome, "likely cause: no key of the sampler and no version differs");
  const json first = json::parse(verify(place, "a", "b", {"--json"}).out).at("first");
  CHECK(first.at("a").at("id") == 17);
  CHECK(first.at("a").at("source").get<std::string>().find("17") != std::string::npos);

  // The command that it names shows that row.
  std::string command = first.at("b").at("replay"), word;
  Words words;
  for (std::istringstream text(command); text >> word;) words.push_back(word);
  words.erase(words.begin());
  REQUIRE_EXIT(place.run(words), 0);
  const json batch = json::parse(read_text(place.path(words.back()) / "batch.json"));
  CHECK(batch.at("rows").at(first.at("row").get<std::size_t>()).at("id") == 17);

  // Another library, to decode with, is the first suspect.
  json environment = json::parse(read_text(place.path("b/env.json")));
  environment["libraries"]["jpeg"] = "9e";
  place.folder().write("b/env.json", environment.dump());
  const auto other = verify(place, "a", "b");
  CHECK_EXIT(other, 1);
  CHECK_PRINTS(other, "likely cause: libraries.jpeg (");
  CHECK_PRINTS(other, "* libraries.jpeg: ");
}

TEST_CASE("verify: a bit of a weight is named, with its tensor and shape") {
  const TempRun place;
  const Words run_b = with(journal, {"--run-dir", "b"});
  REQUIRE_EXIT(place.train(with(journal, {"--run-dir", "a"})), 0);
  REQUIRE_EXIT(place.train(with(run_b, {"--max-iter", "49"})), 0);

  // A sound snapshot, but for a bit of a weight.
  const fs::path snapshots = place.path("b/snapshots");
  const OpenSnapshot open = open_snapshot(find_iteration(snapshots, 49));
  std::vector<TensorView> model(open.model.tensors().begin(), open.model.tensors().end());
  TensorView& tensor = model.front();
  std::vector<std::byte> bytes(tensor.data, tensor.data + tensor.bytes);
  bytes[8] ^= std::byte{1};
  tensor.data = bytes.data();
  write_snapshot(snapshots, {49, model, open.optim.tensors(), open.state_json, open.config_toml});
  REQUIRE_EXIT(place.train(with(run_b, {"--resume", "auto"})), 0);

  const auto outcome = verify(place, "a", "b");
  CHECK_EXIT(outcome, 1);
  CHECK_PRINTS(outcome, "a and b differ: at iteration 49, parameter " + tensor.name + ", F32 " +
                            shape_text(tensor.shape) + " (snapshots/iter-00000049)");
  CHECK_PRINTS(outcome, "a hook, damaged memory or a changed snapshot");
  const json report = json::parse(verify(place, "a", "b", {"--json"}).out);
  CHECK(part(report, "ids").at("different") == 0);
  CHECK(part(report, "image").at("different") == 0);
  CHECK(part(report, "parameters").at("different") > 1);
}

TEST_CASE("verify: an edited env.json is told where the runs are the same; what is no run is refused") {
  const TempRun place;
  for (const std::string run : {"a", "b"})
    REQUIRE_EXIT(place.train(with(journal, {"--max-iter", "5", "--run-dir", run})), 0);
  json environment = json::parse(read_text(place.path("a/env.json")));
  environment["torch"] = "1.0";
  place.folder().write("a/env.json", environment.dump());
  const auto outcome = verify(place, "a", "b");
  CHECK_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, "environments differ (a / b):\n  torch: 1.0 / ");

  const auto none = verify(place, "a", "nowhere");
  CHECK_EXIT(none, 2);
  CHECK_SAYS(none, "there is no run in 'nowhere'");
}

}  // namespace flowtrain::verify_test
