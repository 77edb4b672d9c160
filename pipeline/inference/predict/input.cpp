#include "pipeline/inference/predict/input.h"

#include <glob.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "pipeline/inference/predict/given_records.h"
#include "sampling/core/error.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/io/files.h"
#include "sampling/io/tar.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

Input without_bytes(const std::string& name, const std::string& problem) { return {.name = name, .problem = problem}; }

std::string no_files(const FileKind& kind) { return concat("it holds no ", kind.many, " (", kind.endings, ")"); }

/// Returns whether a word names an archive. The ending of an address stands before its query.
bool is_archive(const std::string& word) {
  return ending_of(is_remote(word) ? word.substr(0, word.find_first_of("?#")) : word) == "tar";
}

std::vector<Input> find_in_folder(const std::string& word, const FileKind& kind) try {
  const Files files(word);
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (kind.fits(files.name(i))) inputs.push_back({.name = files.path(i)});
  if (inputs.empty()) inputs.push_back(without_bytes(word, no_files(kind)));
  return inputs;
} catch (const UserError& error) {
  return {without_bytes(word, error.what())};
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

const std::shared_ptr<const RemoteAccess>& InputFinder::access() {
  if (!access_) access_ = remote_access(Settings("input", remote_keys()));
  return access_;
}

Input InputFinder::single(const std::string& name) {
  if (is_remote(name)) return {.name = name, .remote = access()};
  // The system would end the name there.
  if (name.find('\0') != name.npos) return without_bytes(name, "a file's name has no zero byte");
  if (records_)
    if (auto record = records_->file(name)) return std::move(*record);
  return {.name = name};
}

const FileKind& InputFinder::kind() const { return records_ ? records_->files() : picture_files; }

std::vector<Input> InputFinder::find_in_archive(const std::string& word) {
  std::vector<Input> inputs;
  try {
    std::shared_ptr<const ByteSource> archive;
    if (is_remote(word))
      archive = std::make_shared<const RemoteFile>(word, access());
    else
      archive = std::make_shared<const Descriptor>(Descriptor::file(word.c_str()));
    scan_tar(ScanWindow(*archive), word, [&](const TarEntry& entry) {
      if (!is_hidden(entry.name) && kind().fits(entry.name))
        inputs.push_back({.name = concat(without_secrets(word), ":", entry.name),
                          .archive = archive,
                          .offset = entry.offset,
                          .size_bytes = entry.size_bytes});
    });
    if (inputs.empty()) inputs.push_back(without_bytes(word, no_files(kind())));
  } catch (const std::system_error& error) {
    inputs.push_back(without_bytes(word, error.code().message()));
  } catch (const std::runtime_error& error) {  // pictures before the damage can be used
    inputs.push_back(without_bytes(word, error.what()));
  }
  return inputs;
}

std::vector<Input> InputFinder::find_plain(const std::string& word) {
  if (records_ && records_->takes(word)) return records_->find(word);
  std::error_code ignored;  // reading it gives the reason
  if (!is_remote(word) && fs::is_directory(word, ignored)) return find_in_folder(word, kind());
  if (is_archive(word)) return find_in_archive(word);
  return {single(word)};
}

std::vector<Input> InputFinder::find(const std::string& word) {
  std::error_code ignored;
  if (is_remote(word) || word.find_first_of("*?[") == word.npos || fs::exists(word, ignored)) return find_plain(word);
  std::vector<Input> inputs;
  for (auto& path : matches(word))
    for (auto& input : find_plain(path)) inputs.push_back(std::move(input));
  if (inputs.empty()) inputs.push_back(without_bytes(word, "no file matches this pattern"));
  return inputs;
}

}  // namespace flowtrain
