#pragma once
// A run in one line: how far it is, whether it goes on, what was best.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/run_reader/appended_lines.h"

namespace flowtrain {

enum class RunStatus {
  running,
  done,         ///< it has reached its end, or a rule has stopped it early
  interrupted,  ///< by a signal, after a snapshot
  failed,       ///< it was killed, or ended with an error
};
/// "running", "done" …
std::string_view status_name(RunStatus status);

/// A validation that a run's rules call the best.
struct BestValue {
  std::string metric;
  double value;
  std::uint64_t iteration;
};

/// What is not known stays empty.
struct RunSummary {
  RunStatus status = RunStatus::running;
  std::uint64_t iteration = 0;
  std::optional<std::uint64_t> last_iteration;  ///< that the run is to reach
  std::optional<double> loss;                   ///< of the newest train line
  std::optional<double> samples_per_s;
  std::optional<BestValue> best;
  std::optional<double> written_s;  ///< when the run last wrote a line, in seconds since 1970
  std::optional<double> age_s;      ///< seconds since then
};

/// Whether a process of this machine writes the run in `folder`. The lock is not touched.
bool is_locked(const std::filesystem::path& folder);

/// Reads a run's folder again and again, and only what is new. One thread.
class RunWatcher {
 public:
  explicit RunWatcher(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// As the run is now. The summary of a folder that is gone, or holds no run, is empty and says failed.
  RunSummary summary();

 private:
  void read_config();
  void read_metrics();
  void read_line(std::string_view line);
  std::optional<BestValue> best() const;
  RunStatus status(std::optional<double> age_s) const;
  std::optional<std::uint64_t> last_iteration() const;

  const std::filesystem::path folder_;
  ReadMark mark_;
  std::string train_line_;                          // the newest one
  std::map<std::uint64_t, std::string> val_lines_;  // by iteration
  std::uint64_t iteration_ = 0, epoch_length_ = 0;
  bool ended_ = false;  // there is a line of kind end
  std::filesystem::file_time_type config_time_ = std::filesystem::file_time_type::min();
  std::uint64_t max_iter_ = 0, max_epochs_ = 0;
  std::vector<std::string> metrics_;  // the first of these that a validation has decides which one is best
};

}  // namespace flowtrain
