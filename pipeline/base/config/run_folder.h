#pragma once
// The folder of a run: config.toml, logs, metrics and snapshots/. It says who writes there, and which run is resumed.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "sampling/core/error.h"
#include "sampling/io/held_folder.h"

namespace flowtrain {

/// The folder of a run, which this process has locked. The lock (run.lock, flock) lasts as long as this object and dies
/// with the process, so that two trainers never write one run. The folder is held meanwhile (HeldFolder): once it is
/// removed, renamed or replaced, nothing is written at its path. Errors are UserError(snapshot) with the system's
/// reason, unless said.
class RunFolder {
 public:
  /// Creates the folder of a fresh start: `dir`/`name`, or `dir`/`name`-2, -3 …, one more than the greatest number.
  /// Folders that exist are never touched, even empty ones; two starts at one time get two folders.
  static RunFolder create(const std::filesystem::path& dir, const std::string& name);
  /// Takes a folder for a fresh start (--run-dir). Throws UserError(usage), which names the choices, if it holds a run
  /// or a file that a run would write into.
  static RunFolder create_at(const std::filesystem::path& path);
  /// Throws what create_at() would throw for this folder, without touching anything.
  static void check_free(const std::filesystem::path& path);
  /// Opens the folder of an existing run to continue it. Throws UserError(usage) if there is none.
  static RunFolder open(const std::filesystem::path& path);

  /// Removes what a start made: files of a run that were not there when the folder was taken, and the folder if it was
  /// not there, either, and nothing else is in it. For a start that failed before it trained; may be called after this
  /// object has moved, and does nothing once the folder lies elsewhere.
  std::function<void()> discard() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path snapshots() const { return path_ / "snapshots"; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  void lock();

  std::filesystem::path path_;
  std::set<std::string> found_;             ///< names that were in the folder before
  bool is_new_ = false;                     ///< the folder was not there before
  std::shared_ptr<const HeldFolder> held_;  ///< has run.lock open
};

/// Returns whether a folder holds a run: a config.toml, or something in snapshots/.
bool holds_run(const std::filesystem::path& path);
/// Throws UserError(usage) if it holds none.
void require_run(const std::filesystem::path& path);
/// Returns the name of a run's folder, also of "runs/one/" and ".".
std::string run_name(const std::filesystem::path& path);

/// Returns the newest run called `name` in `dir` (`name` itself, or the greatest -N), or nothing. A run called "net-b"
/// or "net-02" is none of "net"'s.
std::optional<std::filesystem::path> newest_run(const std::filesystem::path& dir, const std::string& name);

/// Returns the run's folder if the command line's CONFIG is one, or nothing if it is a file. Throws UserError(usage)
/// for a folder without config.toml.
std::optional<std::filesystem::path> as_run_folder(const std::filesystem::path& config);

/// The key of env.json that says where a run was started.
inline constexpr const char* start_folder_key = "started_in";

/// The file of a run that has the hashes of its iterations, which `flowtrain verify` compares.
inline constexpr const char* hash_journal_name = "verify.jsonl";

/// Returns the current folder, relative to the folder of the run, for env.json.
std::string start_folder(const std::filesystem::path& run);

/// Returns the folder in which a run was started, by the config.toml of the run or of one of its snapshots; empty if
/// that is the current folder or not known any more, or if `config` is no such file.
std::filesystem::path other_start_folder(const std::filesystem::path& config);

/// Returns the process that is writing a run, by its lock; nothing if there is none.
std::optional<int> writer_of(const std::filesystem::path& run);

}  // namespace flowtrain
