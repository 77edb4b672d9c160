#include "sampling/core/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

#include "sampling/core/text.h"

namespace flowtrain {

TemporaryFolder::TemporaryFolder(const std::string& use, ExitCode code) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (parent / concat("flowtrain-", use, "-XXXXXX")).string();
  if (!error && ::mkdtemp(name.data()) == nullptr) error.assign(errno, std::generic_category());
  if (error)
    throw UserError(code, concat("the temporary folder ", name, " cannot be made: ", error.message()),
                    "TMPDIR names another place");
  path_ = name;
}

void TemporaryFolder::remove() const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace flowtrain
