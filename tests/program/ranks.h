#pragma once
// Runs of several processes, and what is left of them.

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

#include "pipeline/base/snapshot/safetensors.h"
#include "tests/support/temp_run.h"

namespace flowtrain {

namespace fs = std::filesystem;

// Without dropout, whose draws are each rank's own.
inline const Words smooth{"--set", "net.dropout=0.0", "--quiet"};

/// Trains with `processes` on this machine, into `run`.
inline Outcome train(const TempRun& place, int processes, const std::string& run, const Words& more = {}) {
  Words words = with(with(smooth, {"--run-dir", run}), more);
  if (processes > 1) words = with(words, {"--distributed", "--world-size", std::to_string(processes)});
  return place.train(words);
}

/// The largest difference between two runs' parameters at their ends, relative to the largest value of each tensor.
inline double difference(const TempRun& place, const std::string& a, const std::string& b) {
  std::map<std::string, std::vector<float>> values[2];
  for (int i : {0, 1}) {
    const auto path = place.path((i ? b : a) + ".safetensors");
    REQUIRE_EXIT(place.run({"export", i ? b : a, "--out", path.string(), "--snapshot", "latest"}), 0);
    const SafetensorsFile file(path);
    for (auto& tensor : file.tensors()) {
      auto& floats = values[i][tensor.name];
      floats.resize(tensor.bytes / sizeof(float));
      std::memcpy(floats.data(), tensor.data, tensor.bytes);
    }
  }
  REQUIRE_FALSE(values[0].empty());
  double worst = 0;
  for (auto& [name, floats] : values[0]) {
    const auto& others = values[1].at(name);
    REQUIRE(floats.size() == others.size());
    float largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      largest = std::max(largest, std::abs(floats[i]));
      apart = std::max<double>(apart, std::abs(floats[i] - others[i]));
    }
    worst = std::max(worst, apart / largest);
  }
  return worst;
}

/// Trains on 32 rows an iteration, as one batch, four micro-batches, and in two and four processes, with labels of
/// which some do not count, and compares the weights, losses, and `scalar`, if it is not empty.
inline void check_means_over_what_counts(const TempRun& place, const Words& more, const std::string& scalar = {}) {
  const Words alike = with({"--max-iter", "12", "--set", "data.samples=320", "--set", "display.every=1", "--set",
                            "val.every=12", "--set", "optim.momentum=0"},
                           more);
  const auto run = [&](const std::string& name, const Words& own) {
    REQUIRE_EXIT(place.train(with(with({"--run-dir", name}, alike), own)), 0);
  };
  run("whole", {"--set", "loader.batch=32"});
  run("parts", {"--set", "loader.batch=8", "--set", "train.accum=4", "--set", "val.batch=7"});
  run("two", {"--set", "loader.batch=32", "--distributed", "--world-size", "2"});
  run("four", {"--set", "loader.batch=32", "--distributed", "--world-size", "4"});
  for (const std::string name : {"parts", "two", "four"}) {
    CAPTURE(name);
    CHECK(difference(place, "whole", name) < 1e-6);
    for (const std::string kind : {"train", "val"}) {
      const auto own = metrics_of(place.path(name), kind), whole = metrics_of(place.path("whole"), kind);
      REQUIRE(own.size() == whole.size());
      for (std::size_t i = 0; i < own.size(); ++i)
        for (const std::string& value : {std::string("loss"), scalar})
          if (whole[i].contains(value))
            CHECK(own[i].at(value).get<double>() == doctest::Approx(whole[i].at(value).get<double>()).epsilon(2e-6));
    }
  }
  if (!scalar.empty()) CHECK(metrics_of(place.path("whole"), "train").front().contains(scalar));
}

/// What /proc tells of a process; empty where it has ended.
inline std::string text_of_process(int process, const char* file) try {
  return read_text("/proc/" + std::to_string(process) + "/" + file);
} catch (const std::ios_base::failure&) {
  return {};
}

/// Whether `process` is `ancestor`, or was started by it, directly or not.
inline bool descends_from(int process, int ancestor) {
  while (process > 1 && process != ancestor) {
    const auto status = text_of_process(process, "stat");
    // "PID (NAME) STATE PARENT …": the name may hold anything.
    const auto after_name = status.rfind(") ");
    process = after_name == std::string::npos ? 0 : std::atoi(status.c_str() + after_name + 4);
  }
  return process == ancestor;
}

/// The ids of all processes that have `run`, a run's folder, among their words.
inline std::vector<int> processes_of(const std::string& run) {
  std::vector<int> found;
  for (auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        text_of_process(std::stoi(name), "cmdline").find(run) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

/// A rank's process, which a launcher of ours started for the run in folder `run`; 0 where there is none. Only one that
/// this test started: others may run beside it, in folders of the same name.
inline int find_rank_process(const std::string& run, int rank) {
  const auto variable = std::string("\0RANK=", 6) + std::to_string(rank) + '\0';
  for (const int id : processes_of(run)) {
    const auto environment = '\0' + text_of_process(id, "environ");
    if (environment.find(variable) != std::string::npos && descends_from(id, ::getpid())) return id;
  }
  return 0;
}

/// As find_rank_process(); throws where there is none.
inline int rank_process(const std::string& run, int rank) {
  if (const int id = find_rank_process(run, rank)) return id;
  throw std::runtime_error("no process of rank " + std::to_string(rank));
}

/// Waits until no process of the run in folder `run` is left: ranks outlive a launcher that was killed a little.
inline void wait_for_ranks_to_end(const fs::path& run) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(600);
  while (!processes_of(run.string()).empty()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("ranks of a run that has ended do not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace flowtrain
