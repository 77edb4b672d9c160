#pragma once
// The folder that holds one run: config.toml, logs, metrics and snapshots/. Who writes there, and which one is resumed.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "sampling/core/error.h"
#include "sampling/io/held_folder.h"

namespace flowtrain {

/// A run's folder, made and locked. The lock (run.lock, flock) lasts as long as this object and dies with the process,
/// so that two trainers never write one run. The folder is held meanwhile (HeldFolder): once it is removed, renamed or
/// replaced, nothing is written at its path. Errors are UserError(snapshot) with the system's reason, unless said.
class RunFolder {
 public:
  /// For a fresh start: `dir`/`name`, or `dir`/`name`-2, -3 … : one more than the greatest that is there. Folders in
  /// use or not, empty or not, are never touched; two starts at one time get two folders.
  static RunFolder create(const std::filesystem::path& dir, const std::string& name);
  /// Takes a folder for a fresh start (--run-dir). UserError(usage) naming the choices where it already holds a run, or
  /// a file that a run would write into.
  static RunFolder create_at(const std::filesystem::path& path);
  /// The same refusal, before there is anything to lose. Touches nothing.
  static void check_free(const std::filesystem::path& path);
  /// To go on in a run that is there. UserError(usage) where there is none.
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

/// Whether a folder holds a run: a config.toml, or something in snapshots/.
bool holds_run(const std::filesystem::path& path);
/// Throws UserError(usage) where it holds none.
void require_run(const std::filesystem::path& path);
/// The name of a run's folder, also of "runs/one/" and ".".
std::string run_name(const std::filesystem::path& path);

/// The newest run called `name` in `dir` (`name` itself, or the greatest -N), or nothing. A run called "net-b" or
/// "net-02" is none of "net"'s.
std::optional<std::filesystem::path> newest_run(const std::filesystem::path& dir, const std::string& name);

/// The run's folder where the command line's CONFIG is one, or nothing where it is a file. UserError(usage) for a
/// folder without config.toml.
std::optional<std::filesystem::path> as_run_folder(const std::filesystem::path& config);

/// The key of env.json that says where a run was started.
inline constexpr const char* start_folder_key = "started_in";

/// The file of a run that has the hashes of its iterations, which `flowtrain verify` compares.
inline constexpr const char* hash_journal_name = "verify.jsonl";

/// For env.json: the current folder, as it is reached from the run's.
std::string start_folder(const std::filesystem::path& run);

/// The folder that a run was started in, by the config.toml of the run or of one of its snapshots; empty where that is
/// the current folder, is not known any more, or `config` is no such file.
std::filesystem::path other_start_folder(const std::filesystem::path& config);

/// The process that is writing a run, by its lock; nothing where nobody does.
std::optional<int> writer_of(const std::filesystem::path& run);

}  // namespace flowtrain
