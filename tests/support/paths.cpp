#include "tests/support/paths.h"

namespace flowtrain::test {

std::string source_path(const std::string& below) { return FLOWTRAIN_SOURCE_DIR "/" + below; }

std::string build_path(const std::string& below) { return FLOWTRAIN_BUILD_DIR "/" + below; }

}  // namespace flowtrain::test
