#include "pipeline/inference/predict/folder_watch.h"

#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/io/files.h"

namespace flowtrain {

FolderWatch::FolderWatch(std::string folder, const FileKind& kind) : folder_(std::move(folder)), kind_(kind) {
  try {
    static_cast<void>(Descriptor::folder(folder_.c_str()));
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, folder_ + ": " + error.code().message(), "name a folder to watch");
  }
  known_ = last_ = list();
}

FolderWatch::Versions FolderWatch::list() const {
  const Files files(folder_);
  Versions versions;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!kind_.fits(files.name(i))) continue;
    const std::string path = files.path(i);
    try {
      const auto file = Descriptor::file(path.c_str());
      versions[path] = {file.size_bytes(), file.changed_ns()};
    } catch (const std::system_error&) {
      // The file is already gone, or cannot be read.
    }
  }
  return versions;
}

std::vector<Input> FolderWatch::look() {
  Versions now;
  try {
    now = list();
  } catch (const UserError&) {
    return {};
  }
  std::vector<Input> inputs;
  for (auto& [path, version] : now) {
    const auto known = known_.find(path), before = last_.find(path);
    const bool is_new = known == known_.end() || known->second != version;
    const bool rests = before != last_.end() && before->second == version;
    if (!is_new || !rests) continue;
    known_[path] = version;
    inputs.push_back({.name = path});
  }
  std::erase_if(known_, [&](auto& each) { return !now.contains(each.first); });
  last_ = std::move(now);
  return inputs;
}

}  // namespace flowtrain
