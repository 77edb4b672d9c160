#pragma once
// A folder with a small configuration, and what its runs leave behind.

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace flowtrain {

/// 60 iterations on drawn shapes with dropout, flips, validation, and a snapshot every 7: one run takes about a second.
inline constexpr const char* tiny_config = R"(name = "tiny"
[run]
max_iter = 60
threads = 1
[data]
dataset = "shapes"
samples = 300
val_samples = 40
size = 16
[loader]
batch = 16
workers = 2
[net]
name = "mlp"
hidden = [32]
dropout = 0.3
[optim]
lr = 0.05
momentum = 0.9
[val]
every = 20
[snapshot]
every = 7
keep_last = 4
[display]
every = 5
)";

/// The file of a plugin that the build makes: of tests/program/plugins, or an example.
inline std::string plugin_file(const std::string& stem) { return test::build_path("plugins/") + stem + ".so"; }

/// These texts as TOML has them.
inline std::string toml_list(const Words& texts) {
  std::string list;
  for (auto& text : texts) list += (list.empty() ? "\"" : ", \"") + text + "\"";
  return "[" + list + "]";
}

/// A list of the files of these plugins, as run.plugins takes it.
inline std::string plugin_list(const Words& stems) {
  Words files;
  for (auto& stem : stems) files.push_back(plugin_file(stem));
  return toml_list(files);
}

/// `config`, which has a [run], with these plugins opened: a line more at the beginning of [run].
inline std::string with_plugins(const Words& stems, std::string config) {
  const std::string run = "[run]\n";
  return config.insert(config.find(run) + run.size(), "plugins = " + plugin_list(stems) + "\n");
}

/// The words that open these plugins.
inline Words opening(const Words& stems) { return {"--set", "run.plugins=" + plugin_list(stems)}; }

class TempRun {
 public:
  explicit TempRun(const std::string& config = tiny_config) { folder_.write("tiny.toml", config); }

  const TempFolder& folder() const { return folder_; }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  ProcessOptions process_options() const { return {folder_.path()}; }

  Outcome run(const Words& words) const { return run_program(words, process_options()); }
  /// `flowtrain tiny.toml` and `more`.
  Outcome train(Words more = {}) const {
    more.insert(more.begin(), "tiny.toml");
    return run(more);
  }

 private:
  TempFolder folder_;
};

/// The lines of a run's metrics.jsonl.
/// Of a run that goes on, too: what stands behind the last newline is a line that is being written.
inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line) && !file.eof();) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run, const std::string& kind) {
  auto lines = metrics_of(run);
  std::erase_if(lines, [&](auto& line) { return line.at("kind") != kind; });
  return lines;
}

/// The end of a run, which is equal for equal runs: iteration, parameters and order of the last line of metrics.jsonl.
struct End {
  std::uint64_t iteration;
  std::string params, order;
  bool operator==(const End&) const = default;
};

inline std::ostream& operator<<(std::ostream& stream, const End& end) {
  return stream << end.iteration << " params " << end.params << " order " << end.order;
}

inline End end_of(const std::filesystem::path& run) {
  const auto lines = metrics_of(run, "end");
  if (lines.size() != 1) throw std::runtime_error(run.string() + ": not one end but " + std::to_string(lines.size()));
  return {lines[0].at("iter"), lines[0].at("params_xxh64"), lines[0].at("order_xxh64")};
}

}  // namespace flowtrain
