#include "pipeline/base/telemetry/json_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/telemetry/secrets_in_json.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path) {
  throw UserError(ExitCode::snapshot, concat("cannot ", what, " ", path.string(), ": ", std::strerror(errno)),
                  "make room on that disk and the folder writable, then start again");
}

bool belongs(const std::string& line, std::uint64_t iteration, std::uint64_t validated) {
  auto object = parse_json(line);
  if (!object.is_object()) return false;
  const auto is = [&](const char* key, const char* text) { return object.contains(key) && object.at(key) == text; };
  if (is("kind", "end") || is("kind", "verdict")) return false;
  if (is("kind", "val") || is("split", "val")) iteration = std::min(iteration, validated);
  auto iter = object.find("iter");
  return iter == object.end() || !iter->is_number() || iter->get<double>() <= static_cast<double>(iteration);
}

void sync_folder(const std::filesystem::path& file) {
  auto folder = file.parent_path();
  int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;  // the rename itself has happened and only its durability is at stake
  ::fsync(handle);
  ::close(handle);
}

void sync_file(const std::filesystem::path& path) {
  int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0 || ::fsync(handle) != 0) fail("write", path);
  ::close(handle);
}

}  // namespace

std::string json_line(JsonObject object) {
  ordered_json json(std::move(object));
  mask_secrets(json);
  return json_text(json);
}

JsonLinesFile::JsonLinesFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) fail("open", path);
}

JsonLinesFile::~JsonLinesFile() {
  ::close(file_);
  if (lost_lines_ > 0) log_warn(concat(path_.string(), ": ", lost_lines_, " lines could not be written"));
}

void JsonLinesFile::write(JsonObject object) {
  const auto line = json_line(std::move(object)) + "\n";
  MutexLock lock(mutex_);
  struct stat before {};
  ::fstat(file_, &before);
  errno = 0;
  const ssize_t written = TEMP_FAILURE_RETRY(::write(file_, line.data(), line.size()));
  if (written == std::ssize(line)) return;
  auto reason = errno != 0 ? errno : ENOSPC;  // a short write sets no errno
  if (written > 0 && ::ftruncate(file_, before.st_size) != 0) reason = errno;
  if (lost_lines_++ == 0)
    log_warn(
        concat("cannot write ", path_.string(), ": ", std::strerror(reason), "; training goes on, the file has a gap"));
}

std::uint64_t cut_back(const std::filesystem::path& path, std::uint64_t iteration,
                       std::optional<std::uint64_t> validated) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    if (!std::filesystem::exists(path)) return 0;
    fail("read", path);
  }
  auto shorter = path;
  shorter += ".tmp";
  std::ofstream out(shorter, std::ios::binary | std::ios::trunc);
  std::uint64_t removed = 0;
  for (std::string line; std::getline(in, line);) {
    const bool torn = in.eof();  // no newline at its end
    if (!torn && belongs(line, iteration, validated.value_or(iteration)))
      out << line << '\n';
    else
      ++removed;
  }
  out.close();
  if (in.bad()) fail("read", path);
  if (!out) fail("write", shorter);
  if (removed == 0) {
    std::filesystem::remove(shorter);
    return 0;
  }
  sync_file(shorter);
  if (std::rename(shorter.c_str(), path.c_str()) != 0) fail("replace", path);
  sync_folder(path);
  return removed;
}

}  // namespace flowtrain
