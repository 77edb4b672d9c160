// flowtrain test: several snapshots, sets and settings; what it writes; kills, ranks, errors; comparing two.

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/program/detector.h"
#include "tests/program/ranks.h"
#include "tests/support/temp_run.h"

namespace flowtrain::test_command_test {
namespace {

using nlohmann::json;

// tiny_config's with two sets and three settings.
const std::string parts = std::string(tiny_config) + R"(
[data.test]
val_samples = 50
[[test.set]]
name = "many"
val_samples = 90
[[test.setting]]
name = "plain"
[[test.sweep]]
set = ["val.flip=true", "val.batch=16|7"]
)";

std::vector<json> lines_in(const fs::path& path) {
  std::vector<json> lines;
  std::istringstream text(read_text(path));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::vector<json> lines_of(const std::string& out) {
  std::vector<json> lines;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  return files;
}

// Two snapshots of a run.
void train_two(const TempRun& place, const Words& more = {}) {
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "20", "--set", "snapshot.every=10"}, more)), 0);
}

const Words all_parts{"test", "run", "--snapshot", "all"};

}  // namespace

TEST_CASE("a test measures all snapshots, sets and settings, and its samples sum to the metrics") {
  const TempRun place(parts);
  train_two(place, {"--set", "val.metrics=[\"accuracy\", \"confusion\"]"});
  const auto tested = place.run(with(all_parts, {"--pictures", "2"}));
  REQUIRE_EXIT(tested, 0);
  CHECK(lines_of(tested.out).size() == 2 * 2 * 3);
  CHECK_SAYS(tested, "snapshot       set   setting             samples");
  const fs::path folder = place.path("run/test");
  const json summary = json::parse(read_text(folder / "summary.json"));
  REQUIRE(summary.at("parts").size() == 12);
  std::set<std::string> names;
  for (auto& part : summary.at("parts")) {
    CAPTURE(part);
    const fs::path files = folder / part.at("folder").get<std::string>();
    names.insert(part.at("folder"));
    const std::size_t size = part.at("set") == "test" ? 50 : 90;
    CHECK(part.at("samples") == size);
    const auto samples = lines_in(files / "samples.jsonl");
    REQUIRE(samples.size() == size);
    double loss = 0, right = 0, least = 1e9;
    for (std::size_t i = 0; i < size; ++i) {
      CHECK(samples[i].at("id") == i);
      loss += samples[i].at("loss").get<double>() / static_cast<double>(size);
      right += samples[i].at("label") == samples[i].at("prediction");
    }
    CHECK(right / static_cast<double>(size) == part.at("metrics").at("accuracy"));
    CHECK(loss == doctest::Approx(part.at("metrics").at("loss").get<double>()).epsilon(1e-6));
    for (const char* picture : {"00.png", "01.png", "worst-00.png", "worst-15.png", "confusion.png"})
      CHECK(read_text(files / picture).starts_with("\x89PNG"));
    CHECK_FALSE(fs::exists(files / "02.png"));
    const json shown = json::parse(read_text(files / "pictures.json"));
    REQUIRE(shown.at("worst").size() == 16);
    for (auto& worst : shown.at("worst")) {
      CHECK(worst.at("loss") <= least);
      least = worst.at("loss");
    }
  }
  CHECK(names.size() == 12);
  CHECK(names.contains("iter-00000010.test+plain"));
  CHECK(names.contains("iter-00000020.many+flip=true,batch=7"));
  CHECK(read_text(folder / "summary.csv").starts_with("snapshot,iter,set,setting,samples,loss,accuracy,error\n"));

  // The order of a batch's rows is all that its size changes.
  const auto metrics_of = [&](const std::string& name) {
    return json::parse(read_text(folder / name / "summary.json")).at("metrics").at("accuracy");
  };
  CHECK(metrics_of("iter-00000020.many+flip=true,batch=16") == metrics_of("iter-00000020.many+flip=true,batch=7"));

  const auto again = place.run(with(all_parts, {"--pictures", "2"}));
  REQUIRE_EXIT(again, 0);
  CHECK(again.out == tested.out);
  CHECK_SAYS(again, "iter-00000010.test+plain was measured before");
  CHECK(again.err.find("samples measured") == std::string::npos);
  const auto other = place.run(with(all_parts, {"--pictures", "3", "--sets", "test"}));
  REQUIRE_EXIT(other, 0);
  CHECK(other.err.find("was measured before") == std::string::npos);  // other inputs
  CHECK(lines_of(other.out).size() == 6);
}

TEST_CASE("a test that was killed goes on, and ends with the files of one that ran through, on any number of ranks") {
  const TempRun place(parts);
  train_two(place);
  REQUIRE_EXIT(place.run(all_parts), 0);
  const auto whole = files_in(place.path("run/test"));
  fs::remove_all(place.path("run/test"));
  for (const std::string part : {"iter-00000010.test+plain", "iter-00000020.many+plain"}) {
    Process killed(all_parts, place.process_options());
    CHECK(killed.wait_for([&] { return fs::exists(place.path("run/test") / part); }));
    killed.send(SIGKILL);
    CHECK(killed.wait(600).signal == SIGKILL);
    CHECK_FALSE(fs::exists(place.path("run/test/summary.json")));
  }
  fs::create_directory(place.path("run/test/iter-00000020.many+plain.tmp-1-0"));
  const auto resumed = place.run(all_parts);
  REQUIRE_EXIT(resumed, 0);
  CHECK_SAYS(resumed, "was measured before");
  CHECK(files_in(place.path("run/test")) == whole);
  CHECK_FALSE(fs::exists(place.path("run/test/iter-00000020.many+plain.tmp-1-0")));

  for (const std::string world : {"2", "3"}) {
    fs::remove_all(place.path("run/test"));
    REQUIRE_EXIT(place.run(with(all_parts, {"--distributed", "--world-size", world})), 0);
    CHECK(files_in(place.path("run/test")) == whole);
  }
}

TEST_CASE("a test lists the worst samples by each rule, on any number of ranks") {
  const TempRun place(std::string(tiny_config) +
                      "[[test.worst]]\nn = 3\n[[test.worst]]\nmetric = \"score\"\nmode = \"min\"\nn = 5\n"
                      "[[test.worst]]\nmetric = \"score\"\n[[test.worst]]\nmetric = \"false_negatives\"\n");
  train_two(place);
  const Words asked{"test", "run", "--iter", "20"};
  const auto outcome = place.run(asked);
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "test.worst.3.metric: this net and set have no such value for single samples, so none is shown");
  const fs::path folder = place.path("run/test/iter-00000020");
  auto samples = lines_in(folder / "samples.jsonl");
  const json shown = json::parse(read_text(folder / "pictures.json"));
  const auto check_list = [&](const std::string& list, const char* by, bool greatest, std::size_t count) {
    CAPTURE(list);
    std::ranges::stable_sort(samples,
                             [&](auto& a, auto& b) { return greatest ? a.at(by) > b.at(by) : a.at(by) < b.at(by); });
    REQUIRE(shown.at(list).size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(shown.at(list)[i].at("id") == samples[i].at("id"));
      CHECK(shown.at(list)[i].at("file") == list + (i < 10 ? "-0" : "-") + std::to_string(i) + ".png");
      CHECK(fs::exists(folder / shown.at(list)[i].at("file").get<std::string>()));
    }
  };
  check_list("worst", "loss", true, 3);
  samples = lines_in(folder / "samples.jsonl");
  check_list("worst-score-min", "score", false, 5);
  samples = lines_in(folder / "samples.jsonl");
  check_list("worst-score", "score", true, 16);
  CHECK(shown.at("worst-false_negatives").empty());
  const auto whole = files_in(place.path("run/test"));
  fs::remove_all(place.path("run/test"));
  REQUIRE_EXIT(place.run(with(asked, {"--distributed", "--world-size", "2"})), 0);
  CHECK(files_in(place.path("run/test")) == whole);
  // Another rule is another input.
  const auto other = place.run(with(asked, {"--set", "test.worst.0.n=4"}));
  REQUIRE_EXIT(other, 0);
  CHECK(json::parse(read_text(folder / "pictures.json")).at("worst").size() == 4);
}

TEST_CASE("an error ends a test, or costs its own part") {
  const TempRun place(std::string(tiny_config) +
                      "[[test.setting]]\nname = \"other net\"\nset = [\"net.hidden=[9]\"]\n"
                      "[[test.setting]]\nname = \"plain\"\n");
  train_two(place);
  const auto weights = place.path("run/snapshots/iter-00000010/model.safetensors");
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('\x55');
  const auto stopped = place.run({"test", "run", "--iter", "20"});
  CHECK_EXIT(stopped, 4);
  for (const Words& ranks : {Words{}, Words{"--distributed", "--world-size", "2"}}) {
    const auto skipped = place.run(with(with(all_parts, {"--set", "test.on_error=skip"}), ranks));
    CHECK_EXIT(skipped, 4);
    CHECK_SAYS(skipped, "iter-00000010+plain is skipped: ");
    const auto lines = lines_of(skipped.out);
    REQUIRE(lines.size() == 4);
    for (auto& line : lines)
      CHECK(line.contains("error") ==
            (line.at("setting") != "plain" || line.at("snapshot").get<std::string>().ends_with("10")));
    const json summary = json::parse(read_text(place.path("run/test/summary.json")));
    CHECK(summary.at("parts").size() == 4);
  }
}

TEST_CASE("snapshots of a test are a range, several names, or all") {
  const TempRun place;
  REQUIRE_EXIT(
      place.train({"--run-dir", "run", "--max-iter", "30", "--set", "snapshot.keep_last=50", "--set", "val.every=0"}),
      0);
  const auto tested = [&](const Words& wish) {
    std::vector<std::string> names;
    const auto outcome = place.run(with({"test", "run", "--set", "val.batch=40"}, wish));
    CHECK_EXIT(outcome, 0);
    for (auto& line : lines_of(outcome.out))
      names.push_back(fs::path(line.at("snapshot").get<std::string>()).filename());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(tested({"--iter", "8..21"}) == Names{"iter-00000014", "iter-00000021"});
  CHECK(tested({"--iter", "28", "7"}) == Names{"iter-00000028", "iter-00000007"});
  CHECK(tested({"--snapshot", "all"}).size() == 5);
  CHECK(tested({"--snapshot", "latest", "run/snapshots/iter-00000007"}).back() == "iter-00000007");
  CHECK_EXIT(place.run({"test", "run", "--iter", "1..5"}), 4);
  CHECK_EXIT(place.run({"test", "run", "--iter", "1..x"}), 2);
}

TEST_CASE("two nets are compared sample by sample") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "one", "--max-iter", "20", "--set", "snapshot.every=10"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "two", "--max-iter", "60", "--set", "net.hidden=[48]"}), 0);
  const auto outcome = place.run({"test", "one/snapshots/iter-00000020", "two", "--set", "data.val.val_samples=200"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "(McNemar)");
  const auto lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[2].at("kind") == "comparison");
  CHECK(lines[2].at("a") == lines[0].at("accuracy"));
  CHECK(lines[2].at("b") == lines[1].at("accuracy"));
  const auto two = fs::path(lines[1].at("snapshot").get<std::string>()).filename().string();
  std::vector<json> samples[2] = {lines_in(place.path("one/test/iter-00000020/samples.jsonl")),
                                  lines_in(place.path("two/test") / two / "samples.jsonl")};
  const fs::path folder = place.path("one/test") / ("iter-00000020-vs-two-" + two);
  const auto differences = lines_in(folder / "differences.jsonl");
  std::size_t next = 0, only_a = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const auto right = [&](int which) { return samples[which][i].at("label") == samples[which][i].at("prediction"); };
    if (right(0) == right(1)) continue;
    REQUIRE(next < differences.size());
    CHECK(differences[next].at("id") == i);
    CHECK(differences[next++].at("right") == (right(0) ? "a" : "b"));
    only_a += right(0);
  }
  CHECK(next == differences.size());
  CHECK(lines[2].at("only_a") == only_a);
  CHECK(lines[2].at("only_b") == differences.size() - only_a);
  const json file = json::parse(read_text(folder / "comparison.json"));
  CHECK(file.at("p") == lines[2].at("p"));
  CHECK(file.at("test") == "mcnemar");
  if (only_a > 0) CHECK(read_text(folder / "only-a-00.png").starts_with("\x89PNG"));

  const auto itself = place.run({"test", "one", "one"});
  REQUIRE_EXIT(itself, 0);
  CHECK(lines_of(itself.out).back().at("p") == 1);
}

TEST_CASE("detectors are compared by a bootstrap over pictures") {
  const TempRun place(detector);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const Words asked{"test",  "run/snapshots/iter-00000002", "run/snapshots/iter-00000004", "--resamples", "20",
                    "--set", "detect.ae_threshold=100.0"};
  const auto outcome = place.run(asked);
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "(paired bootstrap)");
  const auto lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[2].at("a").get<double>() == doctest::Approx(lines[0].at("ap").get<double>()));
  CHECK(lines[2].at("b").get<double>() == doctest::Approx(lines[1].at("ap").get<double>()));
  for (auto& sample : lines_in(place.path("run/test/iter-00000004/samples.jsonl"))) {
    CHECK(sample.at("truth").size() > 0);
    CHECK(sample.contains("false_negatives"));
  }
  CHECK(json::parse(read_text(place.path("run/test/iter-00000004/pictures.json"))).at("worst").size() == 6);
  // Its files on two ranks, too, are those of one.
  const auto whole = files_in(place.path("run/test"));
  fs::remove_all(place.path("run/test"));
  REQUIRE_EXIT(place.run(with(asked, {"--distributed", "--world-size", "2"})), 0);
  CHECK(files_in(place.path("run/test")) == whole);
}

}  // namespace flowtrain::test_command_test
