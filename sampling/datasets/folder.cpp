#include "sampling/datasets/folder.h"

namespace flowtrain {

std::filesystem::path existing_folder(const Settings& settings) {
  const std::string hint = "set data.path in the configuration or --set data.path=FOLDER";
  const std::filesystem::path folder = settings.text("path");
  if (folder.empty()) throw settings.error("path", "this data set needs a folder", Exit::data, hint);
  std::error_code problem;
  if (std::filesystem::is_directory(folder, problem)) return folder;
  const bool exists = std::filesystem::exists(folder, problem);
  throw settings.error("path", (exists ? "not a folder: " : "no such folder: ") + folder.string(), Exit::data, hint);
}

}  // namespace flowtrain
