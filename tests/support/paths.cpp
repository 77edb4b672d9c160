#include "tests/support/paths.h"

namespace flowtrain::test {

std::string source_path(const std::string& below) { return FLOWTRAIN_SOURCE_DIR "/" + below; }

std::string build_path(const std::string& below) { return FLOWTRAIN_BUILD_DIR "/" + below; }

std::string python_packages() { return FLOWTRAIN_PYTHON_PACKAGES; }

}  // namespace flowtrain::test
