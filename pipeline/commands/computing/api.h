#pragma once
// The parts of commands that compute. They are a library of their own, libflowtrain_torch.so, which is opened when it
// is first asked for: loading LibTorch takes longer than all else that the other commands do.

#include <memory>
#include <string>

#include "pipeline/commands/commands.h"
#include "pipeline/launch/rank_info.h"
#include "pipeline/session/run.h"
#include "pipeline/session/start.h"

namespace flowtrain::commands {

/// What the command line of `flowtrain train` says.
struct TrainRequest {
  StartOptions start;
  RunOptions options;
  LaunchOptions launch;
  bool sets_max_restarts = false;  ///< launch.max_restarts counts, not dist.max_restarts
  Arguments words;                 ///< for the ranks that are started here
};

/// What that of `flowtrain bench --distributed` says.
struct BenchRequest {
  const Config& config;
  double seconds;    ///< for each thing that is measured
  std::string json;  ///< file for the metrics; empty: none
  Arguments words;
};

/// What the library offers. Functions return exit codes and throw as commands do.
struct ComputingParts {
  int (*train)(const TrainRequest& request, Interrupt& interrupt);
  int (*bench)(const Launch& launch, const BenchRequest& request);
  std::unique_ptr<Learner> (*make_learner)(const LearnerSpec& spec);
  std::string (*torch_version)();
  std::string (*torch_folder)();
#define FLOWTRAIN_COMMAND(...)
#define FLOWTRAIN_COMPUTING_COMMAND(function, ...) int (*function)(const Arguments& arguments, Interrupt& interrupt);
#include "pipeline/commands/list.h"
};

inline constexpr char computing_library[] = "libflowtrain_torch.so";
inline constexpr char computing_entry[] = "flowtrain_computing_parts";
/// The library's one symbol.
using ComputingEntry = const ComputingParts*();

/// Opens the library at the first call. Throws UserError(usage) where it is not beside the program, or does not load.
const ComputingParts& computing_parts();

}  // namespace flowtrain::commands
