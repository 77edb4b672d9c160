#include "sampling/io/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <istream>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/utf8.h"
#include "sampling/fingerprint.h"
#include "sampling/io/tar.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// The largest depth, deeper than any data set; a link to a folder above it would otherwise be followed for long.
constexpr int max_depth = 32;

/// Returns whether systems add this name to folders and archives: resource forks, thumbnails, settings, bins.
bool is_of_system(std::string_view part) {
  static constexpr std::string_view known[] = {"__macosx",  "@eadir",      "lost+found",  "$recycle.bin",
                                               "thumbs.db", "desktop.ini", "ehthumbs.db", "system volume information"};
  return std::ranges::find(known, lower_case(part)) != std::end(known);
}

bool is_hidden_part(std::string_view part) { return part.starts_with('.') || is_of_system(part); }

/// Returns the path up to its first hidden part; empty if there is none.
std::string_view hidden_start(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (is_hidden_part(path.substr(begin, end - begin))) return path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Descriptor open_source(const std::string& path, bool is_folder) {
  try {
    return is_folder ? Descriptor::folder(path.c_str()) : Descriptor::file(path.c_str());
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, path + ": " + error.code().message());
  }
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code ignored;  // opening it says more
  return fs::is_directory(path, ignored);
}

Files::Files(const std::string& path)
    : path_(path), is_folder_(is_folder(path)), source_(open_source(path, is_folder_)) {
  is_folder_ ? list_folder() : list_archive();
  if (!is_folder_) archive_version_ = fingerprint_of_file(path_, 0);
  sort();
  sort_folders();
}

void Files::list_folder() {
  const auto root = fs::path(path_) / "";
  std::error_code error;
  // Data sets are often built from links to folders.
  fs::recursive_directory_iterator it(root, fs::directory_options::follow_directory_symlink, error), end;
  std::string last = path_;
  while (!error && it != end) {
    last = it->path().native();
    const bool hidden = is_hidden_part(it->path().filename().native());
    std::error_code dangling;  // a link to nowhere is a file that cannot be read
    const bool folder = it->is_directory(dangling);
    if (folder && it.depth() >= max_depth)
      throw UserError(ExitCode::data, last + ": folders are nested deeper than " + std::to_string(max_depth),
                      "remove the link that leads back to a folder above it");
    const auto name = std::string_view(last).substr(root.native().size());
    if (folder && hidden) {
      it.disable_recursion_pending();
      note_hidden(name);
    } else if (folder) {
      empty_folders_.emplace_back(name);
    } else if (!hidden) {
      names_.add(name);
    }
    it.increment(error);
  }
  if (error) throw UserError(ExitCode::data, last + ": cannot list: " + error.message());
}

void Files::list_archive() {
  const auto add_file = [this](const TarEntry& entry) {
    const auto hidden = hidden_start(entry.name);
    if (!hidden.empty()) {
      if (hidden.size() < entry.name.size()) note_hidden(hidden);
      return;
    }
    names_.add(entry.name);
    extents_.push_back({entry.offset, entry.size_bytes});
  };
  scan_tar(source_, path_, add_file, [this](std::string_view name) {
    const auto hidden = hidden_start(name);
    if (hidden.empty())
      empty_folders_.emplace_back(name);
    else
      note_hidden(hidden);
  });
}

/// Keeps the name of a hidden folder, unless a system made it.
void Files::note_hidden(std::string_view name) {
  if (is_of_system(name.substr(name.rfind('/') + 1))) return;
  if (hidden_folders_.empty() || hidden_folders_.back() != name) hidden_folders_.emplace_back(name);
}

/// Removes folders with files from the list of all folders, and sorts both lists.
void Files::sort_folders() {
  for (auto* folders : {&empty_folders_, &hidden_folders_}) {
    std::ranges::sort(*folders);
    folders->erase(std::unique(folders->begin(), folders->end()), folders->end());
  }
  std::erase_if(empty_folders_, [this](auto& name) {
    const auto [first, last] = range(name + '/');
    return first < last;
  });
  empty_folders_.shrink_to_fit();
}

/// Sorts by name; if an archive holds a name twice, the later file counts, as when it is unpacked.
void Files::sort() {
  std::vector<std::size_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](auto a, auto b) { return names_[a] < names_[b]; });
  Names names;
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && names_[order[i]] == names_[order[i + 1]]) continue;
    names.add(names_[order[i]]);
    if (!is_folder_) extents.push_back(extents_[order[i]]);
  }
  names.shrink_to_fit();
  names_ = std::move(names);
  extents_ = std::move(extents);
}

std::optional<std::size_t> Files::find(std::string_view name) const {
  const auto first = range(name).first;
  if (first < size() && names_[first] == name) return first;
  return {};
}

std::pair<std::size_t, std::size_t> Files::range(std::string_view prefix) const {
  const auto first_at_or_after = [this](auto is_before) {
    std::size_t first = 0;
    for (std::size_t left = size(); left > 0;) {  // names_ has no iterators for std::partition_point
      const std::size_t half = left / 2;
      const bool later = is_before(names_[first + half]);
      first += later ? half + 1 : 0;
      left = later ? left - half - 1 : half;
    }
    return first;
  };
  return {first_at_or_after([&](std::string_view name) { return name < prefix; }),
          first_at_or_after([&](std::string_view name) { return name.substr(0, prefix.size()) <= prefix; })};
}

std::uint64_t Files::size_bytes(std::size_t index) const {
  return use(index, [](auto&, auto, auto size) { return size; });
}

void Files::read(std::size_t index, std::vector<std::byte>& into) const {
  use(index, [&](auto& file, auto offset, auto size) { read_exactly(file, offset, size, into); });
}

void Files::stream(std::size_t index, const std::function<void(std::istream&)>& body) const {
  try {
    opened(index, [&](auto& file, auto offset, auto size) {
      FileBuffer buffer(file, offset, size, describe(index));
      std::istream stream(&buffer);
      body(stream);
    });
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, describe(index) + ": " + error.code().message());
  }
}

std::string Files::describe(std::string_view name) const {
  return as_utf8(is_folder_ ? (fs::path(path_) / name).string() : path_ + ":" + std::string(name));
}

std::string Files::describe_folder(std::string_view folder) const {
  auto place = describe(folder);
  while (place.size() > 1 && (place.ends_with('/') || place.ends_with(':'))) place.pop_back();
  return place;
}

std::uint64_t fingerprint_of_file(const std::string& path, std::uint64_t before) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  const std::array version{is_there ? std::int64_t{status.st_size} : 0, is_there ? nanoseconds(status.st_mtim) : 0};
  return fingerprint_of(std::as_bytes(std::span(version)), before);
}

std::string Files::path(std::size_t index) const { return (fs::path(path_) / names_[index]).string(); }

std::uint64_t Files::version(std::size_t index, std::uint64_t before) const {
  return is_folder_ ? fingerprint_of_file(path(index), before) : fingerprint_of(archive_version_, before);
}

bool is_hidden(std::string_view path) { return !hidden_start(path).empty(); }

void refuse_address(const Settings& settings) {
  if (settings.text("path").find("://") != std::string::npos)
    throw settings.error("path", "this data set reads files of this machine, and path is an address", ExitCode::data,
                         "make shards by flowtrain pack: webdataset reads them on a server");
}

Files open_files(const Settings& settings) {
  const std::string hint = "set data.path in the configuration or --set data.path=FOLDER";
  const auto& path = settings.text("path");
  if (path.empty())
    throw settings.error("path", "this data set needs a folder or a .tar archive", ExitCode::data, hint);
  refuse_address(settings);
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw settings.error("path", "no such folder or archive: " + path, ExitCode::data, hint);
  return Files(path);
}

std::string ending_of(std::string_view name) {
  const auto dot = name.find_last_of("./");
  if (dot == name.npos || name[dot] == '/') return {};
  return lower_case(name.substr(dot + 1));
}

bool is_picture(std::string_view name) {
  static constexpr std::string_view known[] = {"jpg", "jpeg", "jpe", "jfif", "png", "webp"};
  return std::ranges::find(known, ending_of(name)) != std::end(known);
}

bool is_other_picture(std::string_view name) {
  static constexpr std::string_view known[] = {"bmp", "gif",  "tif",  "tiff", "ppm", "pgm", "pnm",
                                               "jp2", "heic", "heif", "avif", "jxl", "tga"};
  return std::ranges::find(known, ending_of(name)) != std::end(known);
}

bool is_sound(std::string_view name) {
  static constexpr std::string_view known[] = {"wav", "flac", "ogg", "oga", "opus", "mp3"};
  return std::ranges::find(known, ending_of(name)) != std::end(known);
}

bool is_other_sound(std::string_view name) {
  static constexpr std::string_view known[] = {"m4a", "aac", "wma",  "aif", "aiff", "au", "snd", "sph",
                                               "mp4", "mka", "webm", "amr", "ape",  "wv", "gsm", "raw"};
  return std::ranges::find(known, ending_of(name)) != std::end(known);
}

}  // namespace flowtrain
