#include "nets/package/archive.h"

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace flowtrain::nets {

namespace fs = std::filesystem;

std::string first_line_of(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

namespace {

std::uint32_t number_at(const std::string& bytes, std::size_t at, int size) {
  std::uint32_t number = 0;
  for (int i = 0; i < size; ++i) number |= std::uint32_t{static_cast<std::uint8_t>(bytes.at(at + i))} << (8 * i);
  return number;
}

// Reads the checksums from the central directory at the end of a zip (PKWARE's APPNOTE.TXT, 4.3.12), by names without
// the archive's folder, because LibTorch's reader does not check them.
std::map<std::string, std::uint32_t> checksums_of(const std::string& path) {
  constexpr std::size_t most = 1 << 22;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::size_t>(file.tellg()), length = std::min(size, most);
  std::string tail(length, '\0');
  file.seekg(static_cast<std::streamoff>(size - length));
  file.read(tail.data(), static_cast<std::streamsize>(length));
  const auto end = tail.rfind("PK\5\6");
  if (end == std::string::npos) throw std::out_of_range("it has no central directory");
  std::map<std::string, std::uint32_t> checksums;
  // LibTorch's writer puts the two records of zip64 in between (4.3.14, 4.3.15).
  const std::size_t between = end >= 76 && tail.compare(end - 20, 4, "PK\6\7") == 0 ? 76 : 0;
  const std::size_t before = number_at(tail, end + 12, 4) + between;
  for (std::size_t at = end - std::min(end, before); tail.compare(at, 4, "PK\1\2") == 0;) {
    const std::uint32_t name = number_at(tail, at + 28, 2);
    const std::string full = tail.substr(at + 46, name);
    checksums[full.substr(full.find('/') + 1)] = number_at(tail, at + 16, 4);
    at += 46 + name + number_at(tail, at + 30, 2) + number_at(tail, at + 32, 2);
  }
  return checksums;
}

}  // namespace

PackageArchive::PackageArchive(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  if (!fs::is_regular_file(path_, ignored)) throw error("no such file");
  try {
    reader_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(path_);
    checksums_ = checksums_of(path_);
  } catch (const std::exception& failure) {
    throw error("the file is damaged or is not a package: " + first_line_of(failure));
  }
}

PackageArchive::~PackageArchive() = default;

std::invalid_argument PackageArchive::error(const std::string& message) const {
  return std::invalid_argument("package " + path_ + ": " + message);
}

ArchiveRecord PackageArchive::read(const std::string& name) const {
  if (!reader_->hasRecord(name))
    throw error("it has no " + name + "; make packages with `python -m flowtrain export` or flowtrain.export()");
  try {
    auto [data, size] = reader_->getRecord(name);
    const auto expected = checksums_.find(name);
    if (expected == checksums_.end() || ::crc32_z(0, static_cast<const Bytef*>(data.get()), size) != expected->second)
      throw std::runtime_error("its checksum does not match");
    return {std::move(data), size};
  } catch (const std::exception& failure) {
    throw error("the file is damaged: " + name + ": " + first_line_of(failure));
  }
}

fs::path PackageArchive::extract_code(const std::string& graph, const fs::path& folder) const {
  const std::string prefix = "data/aotinductor/" + graph + "/";
  fs::path library;
  for (const std::string& name : reader_->getAllRecords()) {
    // The sources beside the code are for people.
    if (!name.starts_with(prefix) || name.ends_with(".cpp")) continue;
    const fs::path to = folder / fs::path(name).filename();
    const ArchiveRecord code = read(name);
    std::ofstream file(to, std::ios::binary);
    file.write(reinterpret_cast<const char*>(code.bytes().data()), static_cast<std::streamsize>(code.bytes().size()));
    if (!file.flush())
      throw error("the package's code cannot be written to " + to.string() + "; name another folder in TMPDIR");
    if (to.extension() == ".so") library = to;
  }
  if (library.empty()) throw error("it has no compiled graph '" + graph + "'");
  return library;
}

}  // namespace flowtrain::nets
