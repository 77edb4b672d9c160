#include "sampling/datasets/text/text_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include "sampling/class_names.h"
#include "sampling/core/cpus.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/datasets/shards/shard_index.h"
#include "sampling/datasets/split_names.h"
#include "sampling/io/files.h"
#include "sampling/io/text_lines.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

using Texts = std::vector<std::string>;

constexpr std::size_t most_open_files = 256;
constexpr std::uint64_t piece_bytes = 32 << 20, least_kept_bytes = 1 << 20;

/// The names of the indices in the cache of remote files. Their number changes with the rules for records.
constexpr std::string_view index_names[] = {"", "text lines 1", "text paragraphs 1"};

Texts parts_of(const std::string& path) {
  Texts parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

using NamePart = Texts::const_iterator;

bool fit(NamePart pattern, NamePart pattern_end, NamePart name, NamePart name_end) {
  for (; pattern != pattern_end; ++pattern, ++name) {
    if (*pattern == "**") {
      for (auto rest = name;; ++rest) {
        if (fit(std::next(pattern), pattern_end, rest, name_end)) return true;
        if (rest == name_end) return false;
      }
    }
    if (name == name_end || ::fnmatch(pattern->c_str(), name->c_str(), 0) != 0) return false;
  }
  return name == name_end;
}

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != path.npos; }

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns whether flowtrain itself has written a file beside the texts: an index, or the list of a split.
bool is_own_file(const Files& files, std::string_view name) {
  return is_held_out_list(name) || (name.ends_with(".index") && files.find(name.substr(0, name.size() - 6)));
}

/// The files of a folder that fit its patterns, divided into splits by their names.
class FolderSearch {
 public:
  /// `key` is the one that has the patterns: files, or path.
  FolderSearch(const std::string& folder, Texts patterns, const char* key, const Settings& settings, bool training)
      : folder_(folder), patterns_(std::move(patterns)), key_(key), settings_(settings), training_(training) {
    const Files files(folder);
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::string name(files.name(i));
      if (is_own_file(files, name)) continue;
      if (std::ranges::any_of(patterns_, [&](auto& pattern) { return fits_pattern(pattern, name); }))
        names_.push_back(std::move(name));
      else
        ++others_[ending_of(name)];
    }
  }

  TextFiles run() {
    if (names_.empty()) refuse_empty();
    unwrap();
    if (const auto& split = settings_.text("split"); !split.empty()) return named(split);
    std::set<std::string> folders, stems;
    for (const auto& name : names_)
      name.find('/', base_.size()) != name.npos ? folders.insert(first_of(name)) : stems.insert(first_of(name));
    const auto choose = [&](const std::set<std::string>& names, const char* what) {
      return choose_split({names.begin(), names.end()}, folder_, what, settings_, training_);
    };
    auto choice = choose(folders, "folders");
    if (choice && choice->names.size() > 1)
      throw unclear_split(settings_,
                          concat(folder_, ": several folders may be one split: ", listed_classes(choice->names)));
    if (choice && training_ && !stems.empty())
      choice->notes.push_back(note_on_unused("files", {stems.begin(), stems.end()}));
    // A single name such as "test" or "training.txt" among files of text is mostly a title.
    if (!choice && find_splits({stems.begin(), stems.end()}).is_complete()) choice = choose(stems, "files");
    if (!choice) return chosen(names_, false, folder_, {});
    Texts of_split;
    std::ranges::copy_if(names_, std::back_inserter(of_split), [&](const auto& name) {
      return std::ranges::find(choice->names, first_of(name)) != choice->names.end();
    });
    return chosen(of_split, choice->has_split, (fs::path(folder_) / listed_classes(choice->names)).string(),
                  std::move(choice->notes));
  }

 private:
  /// Finds the outermost folder with files, with several folders, or with one that is named after a split: archives
  /// often wrap everything in one more folder.
  void unwrap() {
    for (;;) {
      const auto slash = names_.front().find('/', base_.size());
      if (slash == std::string::npos) return;
      const auto next = names_.front().substr(0, slash + 1);
      const bool is_shared = std::ranges::all_of(names_, [&](auto& name) { return name.starts_with(next); });
      if (!is_shared || split_name(next.substr(base_.size(), slash - base_.size()))) return;
      base_ = next;
    }
  }

  /// Returns the folder in `base_` in which a file is, or its own name without its ending.
  std::string first_of(const std::string& name) const {
    const auto slash = name.find('/', base_.size());
    if (slash == name.npos) return fs::path(name).stem().string();
    return name.substr(base_.size(), slash - base_.size());
  }

  TextFiles chosen(const Texts& names, bool has_split, std::string place, Texts notes) const {
    TextFiles found{.has_split = has_split, .place = std::move(place), .notes = std::move(notes)};
    for (const auto& name : names) found.all.push_back({(fs::path(folder_) / name).string(), name});
    return found;
  }

  /// Returns the folder or the files that `split` names; a name that differs only in case is taken if no other is.
  TextFiles named(const std::string& split) const {
    for (const bool any_case : {false, true}) {
      Texts found;
      for (const auto& name : names_) {
        const auto is = [&](const std::string& other) {
          return any_case ? lower_case(other) == lower_case(split) : other == split;
        };
        if (is(first_of(name)) || is(name) || name.starts_with(split + '/') || name.starts_with(base_ + split + '/'))
          found.push_back(name);
      }
      if (!found.empty()) return chosen(found, true, (fs::path(folder_) / split).string(), {});
    }
    std::set<std::string> there;
    for (const auto& name : names_) there.insert(as_utf8(first_of(name)));
    throw settings_.error("split",
                          concat("no file or folder '", split, "' with texts in ", folder_, "; there are ",
                                 listed_classes({there.begin(), there.end()})),
                          ExitCode::data);
  }

  [[noreturn]] void refuse_empty() const {
    const auto others = join(others_, ", ", [](const auto& ending) {
      return concat(ending.second, ending.first.empty() ? " without an ending" : " ." + ending.first);
    });
    const bool in_path = key_ == std::string_view("path");
    throw EmptyDataset(concat(folder_, ": no file fits ", settings_.table(), ".", key_, " = ",
                              to_toml(in_path ? settings_.value("path") : Value(patterns_)),
                              others.empty() ? "; there is no file" : "; there are " + others),
                       in_path
                           ? concat("correct the pattern, or name the folder by ", settings_.table(),
                                    ".path and its files by ", settings_.table(), ".files")
                           : concat("name the files of text: ", settings_.table(), ".files = [\"*.md\", \"*.py\"]"));
  }

  std::string folder_;
  Texts patterns_;
  const char* key_;
  const Settings& settings_;
  bool training_;
  Texts names_;                                ///< names that fit, sorted
  std::string base_;                           ///< folder that has all of them: empty, or ending in a slash
  std::map<std::string, std::size_t> others_;  ///< numbers of other files by ending
};

/// Returns files of a server, whose folders cannot be listed: `path` is one, or a pattern of them, or the folder of
/// those that `files` names.
TextFiles find_remote(const Settings& settings) {
  std::string path = settings.text("path");
  if (const auto& split = settings.text("split"); !split.empty()) path += (path.ends_with('/') ? "" : "/") + split;
  Texts urls;
  for (const auto& name : settings.given("files") ? settings.texts("files") : Texts{""}) {
    const std::string url = name.empty() ? path : concat(path, path.ends_with('/') ? "" : "/", name);
    if (url.ends_with('/') || name.find_first_of("*?[") != name.npos)
      throw settings.error(name.empty() ? "path" : "files",
                           concat("a folder on a server cannot be listed: ", public_name(url)), ExitCode::data,
                           "name its files: data.files = [\"a.txt\", \"part-{000..127}.txt\"]");
    for (auto& each : expand_names(url, name.empty() ? "path" : "files", settings)) urls.push_back(std::move(each));
  }
  TextFiles found{.has_split = !settings.text("split").empty(), .place = public_name(path)};
  found.access = remote_access(settings);
  for (auto& url : urls) {
    const auto shown = public_name(url);
    found.all.push_back({.path = std::move(url), .name = shown.substr(shown.rfind('/') + 1)});
  }
  return found;
}

TextFiles find_text_files(const Settings& settings, bool training) {
  const auto& path = settings.text("path");
  const std::string hint = "set data.path in the configuration or --set data.path=FOLDER";
  if (is_remote(path)) return find_remote(settings);
  if (path.empty())
    throw settings.error("path", "this data set needs a file of text, a folder of them or a pattern", ExitCode::data,
                         hint);
  if (is_folder(path)) return FolderSearch(path, settings.texts("files"), "files", settings, training).run();
  if (!exists(path) && is_pattern(path)) {
    // All up to the first part that is a pattern is a folder.
    const auto slash = path.rfind('/', path.find_first_of("*?["));
    const std::string folder = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (!is_folder(folder)) throw settings.error("path", "no such folder: " + folder, ExitCode::data, hint);
    const auto pattern = path.substr(slash == path.npos ? 0 : slash + 1);
    const auto own = pattern.find('/') == pattern.npos ? "./" + pattern : pattern;
    return FolderSearch(folder, {own}, "path", settings, training).run();
  }
  if (!settings.text("split").empty())
    throw settings.error("split", "only a folder can have splits, but path is: " + path);
  TextFiles found{.place = path};
  if (settings.value("files") != text_files_key().fallback)
    throw settings.error("files", "only a folder has files to choose from, but path is: " + path);
  for (auto& each : exists(path) ? Texts{path} : expand_names(path, "path", settings)) {
    if (!exists(each)) throw settings.error("path", "no such file: " + each, ExitCode::data, hint);
    found.all.push_back({each, fs::path(each).filename().string()});
  }
  return found;
}

/// Opens a file, and finds its size and whether it has a mark.
void open_file(TextFile& file, const std::shared_ptr<const RemoteAccess>& access, bool stays_open) try {
  std::unique_ptr<ByteSource> opened;
  if (access) {
    const std::string url = file.path;
    file.path = public_name(url);
    auto remote = std::make_unique<RemoteFile>(url, access);
    file.remote = remote.get();
    opened = std::move(remote);
  } else {
    opened = std::make_unique<Descriptor>(Descriptor::file(file.path.c_str()));
  }
  file.size_bytes = opened->size_bytes();
  file.begin = file.size_bytes > 1 ? mark_bytes(*opened, file.path) : 0;
  if (stays_open || access) file.file = std::move(opened);
} catch (const std::system_error& error) {
  throw UserError(ExitCode::data, as_utf8(file.path) + ": " + error.code().message());
} catch (const RemoteError& error) {
  throw UserError(ExitCode::data, file.path + ": " + error.what(), error.hint());
}

/// A part of a file that one thread scans.
struct Piece {
  TextFile* file;
  std::uint64_t begin, end;
  TextIndex index = {};
};

/// Makes the indices of files. A large local one is scanned in pieces, by several threads.
class Indexer {
 public:
  explicit Indexer(TextUnit unit) : unit_(unit) {}

  void run(TextFiles& files) {
    for (auto& file : files.all)
      if (!recall(file)) cut(file);
    in_parallel(pieces_.size(), files.access ? 8 : usable_cores(), [this](std::size_t i) { scan(pieces_[i]); });
    for (auto& piece : pieces_) {
      auto& index = piece.file->index;
      if (piece.begin == piece.file->begin)
        index = std::move(piece.index);
      else
        index.append(piece.index);
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (i + 1 == pieces_.size() || pieces_[i + 1].file != pieces_[i].file) keep(*pieces_[i].file);
  }

 private:
  template <class Body>
  static auto with_source(const TextFile& file, Body&& body) try {
    if (file.file) return body(*file.file);
    return body(Descriptor::file(file.path.c_str()));
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, as_utf8(file.path) + ": " + error.code().message());
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, as_utf8(file.path) + ": " + error.what());
  }

  std::string_view name_in_cache() const { return index_names[static_cast<std::size_t>(unit_)]; }

  /// Takes the kept index, whose first byte says which unit it is of.
  bool recall(TextFile& file) const {
    if (file.size_bytes < least_kept_bytes) return false;
    std::optional<std::vector<std::byte>> kept;
    if (file.remote) {
      kept = file.remote->recall(name_in_cache());
    } else {
      with_source(file, [&](const ByteSource& source) {
        kept = KeptIndex(file.path, dynamic_cast<const Descriptor&>(source)).recall();
        return 0;
      });
    }
    if (!kept || kept->empty() || kept->front() != first_byte()) return false;
    auto index = TextIndex::parse(std::span(*kept).subspan(1), file.size_bytes);
    if (!index) return false;
    file.index = std::move(*index);
    return true;
  }

  void keep(const TextFile& file) const {
    if (file.size_bytes < least_kept_bytes) return;
    std::vector<std::byte> bytes{first_byte()};
    bytes.insert(bytes.end(), file.index.bytes().begin(), file.index.bytes().end());
    if (file.remote) return file.remote->keep(name_in_cache(), bytes);
    with_source(file, [&](const ByteSource& source) {
      KeptIndex(file.path, dynamic_cast<const Descriptor&>(source)).keep(bytes);
      return 0;
    });
  }

  /// Returns the mark of a kept index: that of its unit, and of a text's index.
  std::byte first_byte() const { return static_cast<std::byte>(0xf0 | static_cast<unsigned>(unit_)); }

  void cut(TextFile& file) {
    if (file.size_bytes == file.begin) return;
    if (file.remote || file.size_bytes <= piece_bytes) return pieces_.push_back({&file, file.begin, file.size_bytes});
    with_source(file, [&](const ByteSource& source) {
      for (auto begin = file.begin; begin < file.size_bytes;) {
        const auto end = record_border(source, unit_, begin + piece_bytes, file.size_bytes);
        pieces_.push_back({&file, begin, end});
        begin = end;
      }
      return 0;
    });
  }

  void scan(Piece& piece) const {
    piece.index = with_source(*piece.file, [&](const ByteSource& source) {
      return piece.file->remote ? scan_text(ScanWindow(source), unit_, piece.begin, piece.end)
                                : scan_text(source, unit_, piece.begin, piece.end);
    });
  }

  TextUnit unit_;
  std::vector<Piece> pieces_;
};

}  // namespace

bool fits_pattern(const std::string& pattern, const std::string& name) {
  if (pattern.find('/') == pattern.npos)
    return ::fnmatch(pattern.c_str(), name.c_str() + name.rfind('/') + 1, 0) == 0;  // + 0 without a slash
  auto patterns = parts_of(pattern);
  if (patterns.front() == ".") patterns.erase(patterns.begin());
  const auto names = parts_of(name);
  return fit(patterns.begin(), patterns.end(), names.begin(), names.end());
}

Key text_files_key() {
  return {
      "files", Kind::texts, Texts{"*.txt"},
      "patterns of the files of a folder that are read, at any depth (\"*.md\"); with a slash, of their paths in it "
      "(\"src/**/*.py\"); on a server, the names of files in the folder path"};
}

TextFiles open_text_files(const Settings& settings, TextUnit unit, bool training) {
  auto files = find_text_files(settings, training);
  const bool stay_open = files.all.size() <= most_open_files;
  in_parallel(files.all.size(), 8, [&](std::size_t i) { open_file(files.all[i], files.access, stay_open); });
  if (unit != TextUnit::file) Indexer(unit).run(files);
  return files;
}

}  // namespace flowtrain
