#include "sampling/core/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace flowtrain::temporary_folder_test {

namespace fs = std::filesystem;

namespace {

const std::string use = "test" + std::to_string(::getpid());  // nobody else's

/// A child process makes a folder with a file in it and is killed. Returns the folder.
fs::path left_behind() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder(use, ExitCode::usage);
    std::ofstream(folder.path() / "kernel.cubin") << "code";
    const std::string name = folder.path().string();
    (void)!::write(ends[1], name.data(), name.size());
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  std::string name(4096, '\0');
  const ssize_t length = ::read(ends[0], name.data(), name.size());
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE(length > 0);
  name.resize(static_cast<std::size_t>(length));
  return name;
}

}  // namespace

TEST_CASE("the folder of a process that was killed is removed by the next one of its use, and no other folder is") {
  const fs::path abandoned = left_behind();
  CHECK(fs::exists(abandoned / "kernel.cubin"));
  const fs::path own = abandoned.parent_path() / ("flowtrain-" + use + "-results");  // a user's, by chance
  fs::create_directory(own);
  fs::permissions(own, fs::perms::owner_all);
  {
    const TemporaryFolder other(use + "b", ExitCode::usage);
    CHECK(fs::exists(abandoned));
    const TemporaryFolder first(use, ExitCode::usage), second(use, ExitCode::usage);
    CHECK_FALSE(fs::exists(abandoned));
    CHECK(fs::exists(first.path()));
    CHECK(first.path() != second.path());
    CHECK(fs::exists(own));
    CHECK(fs::exists(other.path()));
  }
  CHECK(fs::remove(own));
}

TEST_CASE("a folder is removed with all that is in it, and may be removed before its time") {
  fs::path path;
  {
    const TemporaryFolder folder(use, ExitCode::usage);
    path = folder.path();
    std::ofstream(path / "a") << "b";
    folder.remove();
    CHECK_FALSE(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
}

}  // namespace flowtrain::temporary_folder_test
