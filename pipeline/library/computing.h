#pragma once
// The parts of commands that compute. They are a library of their own, libflowtrain_torch.so, which is opened when it
// is first asked for: loading LibTorch takes longer than all else that the other commands do.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/launch/rank_info.h"
#include "pipeline/engine/session/run.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/inference/evaluation/run_tests.h"

namespace flowtrain {

class Interrupt;

/// What the command line of `flowtrain train` says.
struct TrainRequest {
  StartOptions start;
  RunOptions options;
  Launch launch = SingleProcess{};
  bool sets_max_restarts = false;       ///< the launch's max_restarts counts, not dist.max_restarts
  std::vector<std::string> words = {};  ///< for the ranks that are started here
  /// Called with the run's folder before the first iteration, by each process that trains. May be null.
  std::function<void(const std::filesystem::path& folder)> on_start = {};
};

/// What that of `flowtrain bench --distributed` says.
struct BenchRequest {
  const Config& config;
  double seconds;    ///< for each thing that is measured
  std::string json;  ///< file for the metrics; empty: none
  std::vector<std::string> words;
};

/// What that of `flowtrain test` says.
struct TestRequest {
  std::vector<TestSubject> subjects;  ///< one, or two to compare
  TestOptions options;                ///< without group and ranks
  Launch launch = SingleProcess{};
  std::vector<std::string> words = {};  ///< for the ranks that are started here
};

/// What that of `flowtrain export` says of a net that is to be traced.
struct ExportRequest {
  const Config& config;
  std::filesystem::path snapshot;
  bool averaged;                 ///< the weights' average, of a run with [ema]
  std::filesystem::path script;  ///< the TorchScript file to write
  /// Pictures and outputs for convert() (pipeline/inference/export/convert.h); empty: none.
  std::filesystem::path samples;
};

/// What that of `flowtrain snapshot average` says.
struct AverageRequest {
  const Config& config;
  std::vector<std::filesystem::path> snapshots;
  std::filesystem::path out;  ///< the run's folder to make
  bool keeps_statistics;      ///< batch normalisation has the mean of the snapshots' statistics
  std::uint64_t batches;      ///< training batches that statistics are taken over; 0: an epoch
};

/// What the library offers. Functions return exit codes and throw as commands do.
struct ComputingParts {
  int (*train)(const TrainRequest& request, Interrupt& interrupt);
  int (*bench)(const Launch& launch, const BenchRequest& request);
  int (*test)(const TestRequest& request, Interrupt& interrupt);
  int (*export_net)(const ExportRequest& request);
  int (*average)(const AverageRequest& request);
  std::unique_ptr<Learner> (*make_learner)(const LearnerSpec& spec);
  std::string (*torch_version)();
  std::string (*torch_folder)();
};

inline constexpr char computing_library[] = "libflowtrain_torch.so";
inline constexpr char computing_entry[] = "flowtrain_computing_parts";
/// The library's one symbol.
using ComputingEntry = const ComputingParts*();

/// Opens the library at the first call (pipeline/library/computing.cpp). Throws UserError(usage) where it is not
/// installed, or LibTorch does not load.
const ComputingParts& computing_parts();

}  // namespace flowtrain
