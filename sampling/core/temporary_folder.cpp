#include "sampling/core/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_bits = S_IRWXU;  // the mode of mkdtemp()
constexpr std::string_view drawn = "XXXXXX";

int open_unfollowed(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Returns whether the descriptor's folder still has this name.
bool is_there(int folder, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(folder, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool lock(int folder, int how) {
  int status = 0;
  while ((status = ::flock(folder, LOCK_EX | how)) != 0 && errno == EINTR) {
  }
  return status == 0;
}

// Removes this user's folders that nobody has locked: the kernel unlocks those of processes that ended.
void remove_abandoned(const fs::path& parent, const std::string& prefix) noexcept try {
  std::error_code ignored;
  for (fs::directory_iterator each(parent, ignored), end; each != end; each.increment(ignored)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + drawn.size()) continue;
    const int folder = open_unfollowed(each->path());
    if (folder < 0) continue;
    struct stat status {};
    if (::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & ACCESSPERMS) == mode_bits &&
        lock(folder, LOCK_NB))
      fs::remove_all(each->path(), ignored);
    ::close(folder);
  }
} catch (const std::exception&) {
  // Files that cannot be listed stay.
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& use, ExitCode code) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const std::string prefix = concat("flowtrain-", use, "-");
  if (!error) remove_abandoned(parent, prefix);
  while (true) {
    std::string name = (parent / concat(prefix, drawn)).string();
    if (!error && ::mkdtemp(name.data()) == nullptr) error.assign(errno, std::generic_category());
    if (error)
      throw UserError(code, concat("cannot make the temporary folder ", name, ": ", error.message()),
                      "name another place in TMPDIR");
    path_ = name;
    lock_ = open_unfollowed(path_);
    // Another process may have removed it as abandoned before it was locked.
    if (lock_ < 0 ? fs::exists(path_, error) : !lock(lock_, 0) || is_there(lock_, path_)) return;
    if (lock_ >= 0) ::close(lock_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  remove();
  if (lock_ >= 0) ::close(lock_);
}

void TemporaryFolder::remove() const noexcept {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace flowtrain
