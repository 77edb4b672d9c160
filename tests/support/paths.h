#pragma once
// Finds files for tests. These are functions, as a path among the compiler's flags would keep clones from sharing
// objects.

#include <string>

namespace flowtrain::test {

/// The absolute path of something in the source tree: "tests/nets/golden", "../shared".
std::string source_path(const std::string& below);

/// The absolute path of something in the build folder: "bin/flowtrain", "plugins/edges.so".
std::string build_path(const std::string& below);

/// The folder of Python packages that flowtrain's own needs (numpy, nanobind's backend); empty: it was not built.
std::string python_packages();

}  // namespace flowtrain::test
