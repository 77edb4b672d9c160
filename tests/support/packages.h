#pragma once
// Small packages (net.package), which torch for Python makes once for a build folder.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/python.h"
#include "tests/support/skip.h"

namespace flowtrain {

/// The reason for SKIP_UNLESS if there are no packages.
inline constexpr const char* no_packages =
    "python3 cannot import flowtrain and the torch that the program was built with; FLOWTRAIN_TEST_PYTHONPATH may name "
    "a "
    "folder";

/// Runs one of tests/program/tools; its exit code.
inline int run_python(const std::string& tool, const Words& words) {
  std::string command = test::python_command("tests/program/tools/" + tool);
  for (auto& word : words) command += " '" + word + "'";
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The folder with the packages of make_package.py; nothing without torch for Python of this version. The first test
/// that asks makes them, which takes a minute.
inline std::optional<std::filesystem::path> made_packages(const std::string& torch_version) {
  namespace fs = std::filesystem;
  std::string makers = read_text(test::source_path("tests/program/tools/make_package.py")) +
                       read_text(test::source_path("benchmarks/text_twin.py"));
  for (const auto& source : fs::directory_iterator(test::source_path("python/flowtrain/_export")))
    if (source.path().extension() == ".py") makers += read_text(source.path());
  const fs::path folder = test::build_path("packages/") + std::to_string(std::hash<std::string>()(makers));
  fs::create_directories(folder);
  const int lock = ::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ::flock(lock, LOCK_EX);
  constexpr int no_torch = 77;
  int code = 0;
  if (!fs::exists(folder / "two.pt2")) code = run_python("make_package.py", {folder.string(), torch_version});
  ::close(lock);
  if (code == no_torch) return std::nullopt;
  if (code != 0) throw std::runtime_error("make_package.py ended with exit code " + std::to_string(code));
  return folder;
}

}  // namespace flowtrain
