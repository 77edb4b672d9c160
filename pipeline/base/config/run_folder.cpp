#include "pipeline/base/config/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "pipeline/base/config/run_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"

namespace flowtrain {
namespace fs = std::filesystem;
namespace {

UserError failed(const std::string& what, const fs::path& path, const std::string& reason) {
  return UserError(ExitCode::snapshot, "cannot " + what + " '" + path.string() + "': " + reason,
                   "give a folder that can be written: --run-dir DIR, or --set run.dir=DIR");
}

/// Makes a folder and those above it.
void make_run_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error) error = std::make_error_code(std::errc::not_a_directory);
  if (error) throw failed("make the folder", path, error.message());
}

/// Returns N for "name-N" (written plainly, N >= 2), 1 for "name" itself, 0 for all else.
unsigned long number_of(const std::string& folder, const std::string& name) {
  if (folder == name) return 1;
  if (!folder.starts_with(name + "-")) return 0;
  auto digits = std::string_view(folder).substr(name.size() + 1);
  const auto number = parse_number<unsigned long>(digits);
  return number && !digits.starts_with('0') && *number >= 2 && *number < 1'000'000'000 ? *number : 0;
}

std::string numbered(const std::string& name, unsigned long number) {
  return number == 1 ? name : name + "-" + std::to_string(number);
}

/// Returns the greatest number among the folders of `name` that `counts` accepts; 0: none.
template <class Counts>
unsigned long greatest(const fs::path& dir, const std::string& name, Counts counts) {
  unsigned long most = 0;
  std::error_code error;
  for (fs::directory_iterator each(dir, error), end; !error && each != end; each.increment(error))
    if (auto number = number_of(each->path().filename().string(), name); number > most && counts(each->path()))
      most = number;
  if (error && error != std::errc::no_such_file_or_directory) throw failed("list the folder", dir, error.message());
  return most;
}

/// Returns the id that a process wrote into the lock file; empty if there is none yet.
std::string held_by(int descriptor) {
  char digits[32];
  auto size = pread(descriptor, digits, sizeof digits, 0);
  std::string pid(digits, size > 0 ? static_cast<std::size_t>(size) : 0);
  pid.erase(pid.find_last_not_of(" \n") + 1);
  return pid;
}

/// Returns a name of that process for a message.
std::string holder(int descriptor) {
  const auto pid = held_by(descriptor);
  return pid.empty() ? "another process" : "process " + pid;
}

/// Returns whether a folder holds nothing, or only what the ranks of a start have left that was killed before it wrote
/// its configuration.
bool is_of_killed_start(const fs::path& folder) {
  std::error_code error;
  const bool has_lock = fs::exists(folder.parent_path() / "run.lock", error);
  const bool is_of_ranks = folder.filename() == "flight" || folder.filename() == "logs";
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (!has_lock || !is_of_ranks || !each->path().filename().string().starts_with("rank-")) return false;
  return !error;
}

}  // namespace

RunFolder RunFolder::create(const fs::path& dir, const std::string& name) {
  make_run_folders(dir);
  auto number = greatest(dir, name, [](auto&) { return true; }) + 1;
  for (;; ++number) {
    RunFolder folder(dir / numbered(name, number));
    std::error_code error;
    // Another start may have been quicker; then the folder is there and the next number is tried.
    folder.is_new_ = fs::create_directory(folder.path_, error);
    if (folder.is_new_) {
      folder.lock();
      return folder;
    }
    if (error && error != std::errc::file_exists) throw failed("make the folder", folder.path_, error.message());
  }
}

RunFolder RunFolder::create_at(const fs::path& path) {
  RunFolder folder(path);
  std::error_code error;
  folder.is_new_ = !fs::exists(path, error);
  if (!folder.is_new_) check_free(path);
  make_run_folders(path);
  for (fs::directory_iterator each(path, error), end; !error && each != end; each.increment(error))
    folder.found_.insert(each->path().filename().string());
  folder.lock();
  check_free(path);
  return folder;
}

void RunFolder::check_free(const fs::path& path) {
  if (holds_run(path))
    throw UserError(ExitCode::usage, "--run-dir '" + path.string() + "' already holds a run",
                    "go on in it with --resume auto or --iter N, name another --run-dir, or remove it");
  std::error_code error;
  for (auto& each : run_files)
    if (const auto file = path / each.name;
        fs::is_directory(file, error) ? !is_of_killed_start(file) : fs::exists(file, error))
      throw UserError(
          ExitCode::usage,
          "--run-dir '" + path.string() + "' holds no run, but '" + each.name + "', which a run would write into",
          "name another --run-dir, or move that away");
  std::string word;
  if (std::ifstream(path / "run.lock") >> word && !parse_number<long>(word))
    throw UserError(ExitCode::usage, "--run-dir '" + path.string() + "' holds a run.lock that is no run's",
                    "name another --run-dir, or move that away");
}

RunFolder RunFolder::open(const fs::path& path) {
  require_run(path);
  RunFolder folder(path);
  folder.lock();
  return folder;
}

void RunFolder::lock() {
  auto file = path_ / "run.lock";
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) throw failed("open", file, std::strerror(errno));
  held_ = std::make_shared<const HeldFolder>(path_, file, descriptor);
  // writer_of() holds it for an instant without being a writer.
  int tries = 20;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    int reason = errno;
    if (reason == EWOULDBLOCK && --tries > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    if (reason != EWOULDBLOCK) throw failed("lock", file, std::strerror(reason));
    throw UserError(ExitCode::snapshot, "the run in '" + path_.string() + "' is being written by " + holder(descriptor),
                    "wait for it or stop it, or start another run with --run-dir DIR");
  }
  auto pid = std::to_string(getpid()) + "\n";
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, pid.data(), pid.size(), 0) < 0)
    throw failed("write", file, std::strerror(errno));
  held_->check();
  make_run_folders(snapshots());
}

std::function<void()> RunFolder::discard() const {
  return [path = path_, found = found_, is_new = is_new_, held = std::weak_ptr(held_)] {
    const auto still = held.lock();
    if (!still || still->is_lost()) return;
    std::error_code ignored;
    for (const char* folder : {"logs", "flight"}) {
      std::error_code over;
      for (fs::directory_iterator each(path / folder, over), end; !over && each != end; each.increment(over))
        if (each->path().filename().string().starts_with("rank-")) fs::remove(each->path(), ignored);
      if (!found.contains(folder)) fs::remove(path / folder, ignored);
    }
    // The configuration goes last, as a folder with it is a run that can be resumed.
    for (const char* name : {"env.json", "train.log", "snapshots", "config.toml", "run.lock"})
      if (!found.contains(name)) fs::remove(path / name, ignored);
    if (is_new) fs::remove(path, ignored);
  };
}

bool holds_run(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "config.toml", error)) return true;
  return fs::is_directory(path / "snapshots", error) && !fs::is_empty(path / "snapshots", error) && !error;
}

void require_run(const fs::path& path) {
  if (!holds_run(path))
    throw UserError(ExitCode::usage, "there is no run in '" + path.string() + "'",
                    "name the folder of a run, e.g. runs/quickstart");
}

std::string run_name(const fs::path& path) {
  const auto folder = fs::absolute(path).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

std::optional<fs::path> newest_run(const fs::path& dir, const std::string& name) {
  auto number = greatest(dir, name, holds_run);
  if (number == 0) return std::nullopt;
  return dir / numbered(name, number);
}

std::string start_folder(const fs::path& run) { return fs::relative(fs::current_path(), fs::canonical(run)).string(); }

fs::path other_start_folder(const fs::path& config) {
  std::error_code error;
  const auto file = fs::canonical(config, error);
  if (error || file.filename() != "config.toml") return {};
  auto run = file.parent_path();
  if (run.parent_path().filename() == "snapshots") run = run.parent_path().parent_path();
  std::ifstream stream(run / "env.json");
  const auto facts = parse_json(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (!facts.is_object() || !facts.contains(start_folder_key) || !facts.at(start_folder_key).is_string()) return {};
  const auto folder = fs::weakly_canonical(run / facts.at(start_folder_key).get<std::string>(), error);
  return error || folder == fs::current_path(error) ? fs::path() : folder;
}

std::optional<int> writer_of(const fs::path& run) {
  const int descriptor = ::open((run / "run.lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  // The lock is shared, so that two readers at one time are not taken for writers.
  const bool is_locked = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const auto pid = is_locked ? parse_number<int>(held_by(descriptor)) : std::nullopt;
  close(descriptor);
  return pid;
}

std::optional<fs::path> as_run_folder(const fs::path& config) {
  std::error_code error;
  if (!fs::is_directory(config, error)) return std::nullopt;
  if (!fs::exists(config / "config.toml", error))
    throw UserError(ExitCode::usage, "'" + config.string() + "' is a folder without config.toml: not a run",
                    "flowtrain CONFIG takes a .toml file or a run's folder");
  return config;
}

}  // namespace flowtrain
