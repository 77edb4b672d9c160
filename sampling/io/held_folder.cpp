#include "sampling/io/held_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

struct FolderList {
  std::atomic<std::size_t> size = 0;  ///< processes without held folders take no lock
  Mutex mutex;
  std::vector<const HeldFolder*> folders FT_GUARDED_BY(mutex);
};

// The list is never destroyed: threads may write until the very end of the process.
FolderList& folder_list() {
  static FolderList& all = *new FolderList;
  return all;
}

int open_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    throw UserError(ExitCode::snapshot, concat(folder.string(), ": open: ", std::generic_category().message(errno)));
  return descriptor;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) return false;
  return folder.ends_with('/') || path.size() == folder.size() || path[folder.size()] == '/';
}

// Returns the current path of the open file; empty if the system does not tell.
fs::path place_of(int descriptor) {
  std::error_code error;
  return fs::read_symlink(concat("/proc/self/fd/", descriptor), error);
}

}  // namespace

HeldFolder::HeldFolder(fs::path folder, fs::path file, int descriptor)
    : folder_(std::move(folder)), absolute_(fs::absolute(folder_)), file_(std::move(file)), descriptor_(descriptor) {
  FolderList& all = folder_list();
  const MutexLock lock(all.mutex);
  all.folders.push_back(this);
  all.size = all.folders.size();
}

HeldFolder::HeldFolder(const fs::path& folder) : HeldFolder(folder, folder, open_folder(folder)) {}

HeldFolder::~HeldFolder() {
  {
    FolderList& all = folder_list();
    const MutexLock lock(all.mutex);
    std::erase(all.folders, this);
    all.size = all.folders.size();
  }
  ::close(descriptor_);
}

void HeldFolder::check() const {
  struct stat held {
  }, found{};
  if (::fstat(descriptor_, &held) != 0) return;
  if (::stat(file_.c_str(), &found) == 0) {
    if (held.st_dev == found.st_dev && held.st_ino == found.st_ino) return;
  } else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE) {
    return;
  }
  const std::string name = "the run's folder '" + folder_.string() + "'";
  auto place = place_of(descriptor_);
  if (held.st_nlink == 0 || place.native().ends_with(" (deleted)"))
    throw FolderLost(file_ == folder_ ? name + " was removed" : concat(name, ", or ", file_.string(), ", was removed"),
                     "the run cannot continue: start it again");
  if (file_ != folder_) place = place.parent_path();
  throw FolderLost(concat(name, " was renamed or replaced", place.empty() ? "" : concat("; it is ", place.string())),
                   place.empty() ? "continue the run under its new name: flowtrain FOLDER"
                                 : concat("continue the run there: flowtrain ", place.string()));
}

bool HeldFolder::is_lost() const {
  try {
    check();
    return false;
  } catch (const FolderLost&) {
    return true;
  }
}

bool HeldFolder::contains(const fs::path& path) const {
  return is_below(path.native(), folder_.native()) || is_below(path.native(), absolute_.native());
}

void check_held(const fs::path& path) {
  FolderList& all = folder_list();
  if (all.size == 0) return;
  const MutexLock lock(all.mutex);
  for (const auto* folder : all.folders)
    if (folder->contains(path)) folder->check();
}

}  // namespace flowtrain
