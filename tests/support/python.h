#pragma once
// Scripts in Python that tests run: with python3, and the packages of FLOWTRAIN_TEST_PYTHONPATH.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "sampling/core/text.h"
#include "tests/support/paths.h"

namespace flowtrain::test {

/// The command that runs `script`, a path in the tree; flowtrain's own package is the one of this build.
inline std::string python_command(const std::string& script) {
  const char* folder = std::getenv("FLOWTRAIN_TEST_PYTHONPATH");
  return concat("PYTHONPATH='", build_path("python"), ":", folder ? folder : "", ":", python_packages(), "' python3 ",
                source_path(script));
}

/// Whether that python3 can import the module.
inline bool python_has(const std::string& module) {
  const char* folder = std::getenv("FLOWTRAIN_TEST_PYTHONPATH");
  const std::string command =
      std::string("PYTHONPATH='").append(folder ? folder : "") + "' python3 -c 'import " + module + "' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

/// Returns the output of a command. Throws if it fails.
inline std::string output_of(const std::string& command) {
  std::string text;
  auto* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("popen failed");
  char block[4096];
  while (const auto got = std::fread(block, 1, sizeof block, pipe)) text.append(block, got);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command + "\n" + text);
  return text;
}

}  // namespace flowtrain::test
