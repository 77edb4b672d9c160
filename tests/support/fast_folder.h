#pragma once
// A fresh folder, in memory where there is such a disk: fault tests make, sync and remove a hundred thousand files.

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace flowtrain::test {

namespace fs = std::filesystem;

/// Removed at the end.
class FastFolder {
 public:
  FastFolder() {
    const fs::path memory = "/dev/shm";
    const auto above = ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
    auto pattern = (above / "flowtrain-faults-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    path_ = fs::canonical(pattern);
  }
  FastFolder(const FastFolder&) = delete;
  ~FastFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  fs::path operator/(const fs::path& name) const { return path_ / name; }

 private:
  fs::path path_;
};

}  // namespace flowtrain::test
