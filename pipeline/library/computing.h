#pragma once
// The parts of commands that compute. They are in a library of their own, libflowtrain_torch.so, which is opened at its
// first use: loading LibTorch takes longer than all other work of the other commands.

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

/// The request of `flowtrain train`.
struct TrainRequest {
  StartOptions start;
  RunOptions options;
  Launch launch = SingleProcess{};
  bool sets_max_restarts = false;       ///< the launch's max_restarts counts instead of dist.max_restarts
  std::vector<std::string> words = {};  ///< passed to the ranks that are started here
  /// Called with the run's folder before the first iteration, by each process that trains. May be null.
  std::function<void(const std::filesystem::path& folder)> on_start = {};
};

/// The request of `flowtrain bench --distributed`.
struct BenchRequest {
  const Config& config;
  double seconds;    ///< the duration of each measurement
  std::string json;  ///< file for the metrics; empty: none
  std::vector<std::string> words;
};

/// The request of `flowtrain test`.
struct TestRequest {
  std::vector<TestSubject> subjects;  ///< one, or two to compare
  TestOptions options;                ///< the group and ranks are not set
  Launch launch = SingleProcess{};
  std::vector<std::string> words = {};  ///< passed to the ranks that are started here
};

/// The request of `flowtrain export` for a net that is to be traced.
struct ExportRequest {
  const Config& config;
  std::filesystem::path snapshot;
  bool averaged;                 ///< exports the average of the weights, if the run has [ema]
  std::filesystem::path script;  ///< the TorchScript file to write
  /// Pictures and outputs for convert() (pipeline/inference/export/convert.h); empty: none.
  std::filesystem::path samples;
};

/// The request of `flowtrain snapshot average`.
struct AverageRequest {
  const Config& config;
  std::vector<std::filesystem::path> snapshots;
  std::filesystem::path out;  ///< the run's folder to make
  bool keeps_statistics;      ///< keeps the mean of the snapshots' statistics of batch normalisation
  std::uint64_t batches;      ///< the training batches for the statistics; 0: one epoch
};

/// The functions that the library offers. They return exit codes, and throw as commands do.
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

/// Opens the library at the first call. Throws UserError(usage) if it is not installed, or LibTorch does not load.
const ComputingParts& computing_parts();

}  // namespace flowtrain
