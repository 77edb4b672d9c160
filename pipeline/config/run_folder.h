#pragma once
// The folder that holds one run: config.toml, logs, metrics and snapshots/. Who writes there, and which one is resumed.

#include <filesystem>
#include <optional>
#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// A run's folder, made and locked. The lock (run.lock, flock) lasts as long as this object and dies with the process,
/// so that two trainers never write one run. Errors are UserError(snapshot) with the system's reason, unless said.
class RunFolder {
 public:
  /// For a fresh start: `dir`/`name`, or `dir`/`name`-2, -3 … : one more than the greatest that is there. Folders in
  /// use or not, empty or not, are never touched; two starts at one time get two folders.
  static RunFolder create(const std::filesystem::path& dir, const std::string& name);
  /// For a fresh start with --run-dir. UserError(usage) naming the choices where it already holds a run.
  static RunFolder create_at(const std::filesystem::path& path);
  /// The same refusal, before there is anything to lose. Touches nothing.
  static void check_free(const std::filesystem::path& path);
  /// To go on in a run that is there. UserError(usage) where there is none.
  static RunFolder open(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  ~RunFolder();

  /// Removes what a start put into the folder at `path`, and the folder if nothing else is in it: for a start that
  /// failed before it trained.
  static void discard(const std::filesystem::path& path) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path snapshots() const { return path_ / "snapshots"; }

 private:
  RunFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  static RunFolder lock(const std::filesystem::path& path);

  std::filesystem::path path_;
  int lock_ = -1;  ///< descriptor of run.lock
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

/// For env.json: the current folder, as it is reached from the run's.
std::string start_folder(const std::filesystem::path& run);

/// The folder that a run was started in, by the config.toml of the run or of one of its snapshots; empty where that is
/// the current folder, is not known any more, or `config` is no such file.
std::filesystem::path other_start_folder(const std::filesystem::path& config);

/// The process that is writing a run, by its lock; nothing where nobody does.
std::optional<int> writer_of(const std::filesystem::path& run);

}  // namespace flowtrain
