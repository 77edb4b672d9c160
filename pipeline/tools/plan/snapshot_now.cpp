#include "pipeline/tools/plan/snapshot_now.h"

#include <signal.h>
#include <sys/utsname.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/json_file.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

/// Returns the newest complete snapshot.
std::optional<SnapshotInfo> newest_of(const fs::path& run) {
  for (auto& info : list_snapshots(run / "snapshots"))
    if (info.complete) return info;
  return {};
}

/// Returns whether a process handles a signal; most signals end a process without a handler.
bool handles(int pid, int signal) {
  std::ifstream status(concat("/proc/", pid, "/status"));
  constexpr std::string_view caught = "SigCgt:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(caught)) {
      const auto mask = parse_number<std::uint64_t>(trimmed(std::string_view(line).substr(caught.size())), 16);
      return mask && (*mask >> (signal - 1) & 1);
    }
  return false;
}

void check_host(const fs::path& run) {
  const auto facts = json_of_file(run / "env.json");
  utsname system{};
  ::uname(&system);
  if (!facts.is_object() || !facts.contains("host") || facts.at("host") == system.nodename) return;
  throw UserError(ExitCode::snapshot,
                  concat(run.string(), ": the run trains on another machine: ", facts.at("host").dump()),
                  "run this command there");
}

}  // namespace

void snapshot_now(const fs::path& run, double timeout_s, std::ostream& out) {
  if (!as_run_folder(run))
    throw UserError(ExitCode::usage, run.string() + " is not the folder of a run",
                    "name the folder of a run: runs/NAME");
  const auto before = newest_of(run);
  const auto is_newer = [&](const SnapshotInfo& info) { return !before || info.iteration > before->iteration; };
  const auto pid = writer_of(run);
  if (!pid)
    throw UserError(ExitCode::snapshot, run.string() + ": no process trains this run",
                    before ? "its newest snapshot is " + before->path.string() : "it has no snapshot either");
  check_host(run);
  if (!handles(*pid, SIGUSR2))
    throw UserError(ExitCode::snapshot,
                    concat(run.string(), ": process ", *pid, " does not accept requests for snapshots"),
                    "it is starting or ending, or is an earlier version; try again in a moment");
  if (::kill(*pid, SIGUSR2) != 0)
    throw UserError(ExitCode::snapshot, concat(run.string(), ": cannot signal process ", *pid, ": ",
                                               std::generic_category().message(errno)));

  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const bool trains = writer_of(run) == pid;  // read before the look, so that the last snapshot is seen
    if (const auto newest = newest_of(run); newest && is_newer(*newest)) {
      out << newest->path.string() << "\n";
      return;
    }
    if (!trains) throw UserError(ExitCode::snapshot, run.string() + ": the run ended without another snapshot");
    if (seconds_since(begin) > timeout_s)
      throw UserError(
          ExitCode::snapshot, concat(run.string(), ": no snapshot in ", timeout_s, " s"),
          "it is saved after the current step if the disk has room, see train.log; wait longer with --timeout");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace flowtrain
