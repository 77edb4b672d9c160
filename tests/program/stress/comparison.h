#pragma once
// In what two runs of one configuration differ, of all that is not to depend on time and accidents.

#include <algorithm>
#include <set>

#include "tests/program/stress/combination.h"
#include "tests/support/temp_run.h"
#include "tests/support/timed_fields.h"

namespace flowtrain {

namespace fs = std::filesystem;

/// The lines of a kind, by iteration, without what is a matter of time.
inline std::vector<nlohmann::json> lasting_lines(const fs::path& run, const std::string& kind) {
  auto lines = metrics_of(run, kind);
  for (auto& line : lines) line = test::without_times(line);
  // Overlapped validations may be written after later lines.
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.at("iter") < b.at("iter"); });
  return lines;
}

/// What `snapshots` links to, by the links' names.
inline std::map<std::string, std::string> links_of(const fs::path& snapshots) {
  std::map<std::string, std::string> links;
  for (auto& entry : fs::directory_iterator(snapshots))
    if (entry.is_symlink()) links[entry.path().filename().string()] = fs::read_symlink(entry.path()).string();
  return links;
}

/// The snapshots of a run, from the oldest to the newest.
inline std::vector<fs::path> snapshots_of(const fs::path& run) {
  std::vector<fs::path> all;
  for (auto& entry : fs::directory_iterator(run / "snapshots"))
    if (!entry.is_symlink() && entry.path().filename().string().starts_with("iter-")) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// Finds differences, and says each in a line.
class Comparison {
 public:
  /// `expected`: the folder of the run that nobody disturbed.
  Comparison(const fs::path& expected, const fs::path& actual, const Combination& combination)
      : expected_(expected), actual_(actual), combination_(combination) {
    for (auto kind : {"train", "epoch", "val", "nonfinite", "skipped", "end"}) compare_lines(kind);
    compare_results();
    compare("confusion.csv", read_text(expected / "confusion.csv"), read_text(actual / "confusion.csv"));
    compare_links();
    compare_snapshots();
  }

  /// Empty: there are none.
  const std::string& text() const { return text_; }

 private:
  template <class Value>
  void compare(const std::string& what, const Value& expected, const Value& actual) {
    if (expected == actual) return;
    std::ostringstream line;
    line << what << ": expected " << expected << ", not " << actual << "\n";
    text_ += line.str();
  }

  void compare_lines(const std::string& kind) {
    const auto expected = lasting_lines(expected_, kind), actual = lasting_lines(actual_, kind);
    compare("number of lines of kind " + kind, expected.size(), actual.size());
    for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
      compare_fields("line of kind " + kind + " of iteration " + expected[i].at("iter").dump() + ", ", expected[i],
                     actual[i]);
  }

  void compare_fields(const std::string& what, const nlohmann::json& expected, const nlohmann::json& actual) {
    std::set<std::string> keys;
    for (auto* object : {&expected, &actual})
      for (auto& [key, value] : object->items()) keys.insert(key);
    const auto shown = [](const nlohmann::json& object, const std::string& key) {
      return object.contains(key) ? object.at(key).dump() : std::string("nothing");
    };
    for (auto& key : keys) compare(what + key, shown(expected, key), shown(actual, key));
  }

  void compare_results() {
    auto expected = nlohmann::json::parse(read_text(expected_ / "result.json")),
         actual = nlohmann::json::parse(read_text(actual_ / "result.json"));
    for (auto* result : {&expected, &actual}) result->erase("seconds");
    compare_fields("result.json, ", expected, actual);
  }

  void compare_links() {
    auto expected = links_of(expected_ / "snapshots"), actual = links_of(actual_ / "snapshots");
    // The newest one may be that of a signal where none is made at the end.
    for (auto* links : {&expected, &actual})
      if (!combination_.final_snapshot) links->erase("latest");
    compare_fields("link snapshots/", expected, actual);
  }

  // A signal's own snapshots are in excess, and take the place of some of the last ones.
  void compare_snapshots() {
    for (auto& snapshot : snapshots_of(expected_)) {
      const auto other = actual_ / "snapshots" / snapshot.filename();
      if (!fs::exists(other)) continue;
      for (auto file : {"model.safetensors", "optim.safetensors"})
        if (read_text(snapshot / file) != read_text(other / file))
          text_ += snapshot.filename().string() + "/" + file + " has other bytes\n";
    }
  }

  const fs::path expected_, actual_;
  const Combination& combination_;
  std::string text_;
};

}  // namespace flowtrain
