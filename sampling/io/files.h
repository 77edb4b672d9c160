#pragma once
// A folder, or a .tar archive of one: data sets of files work in place on either.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/names.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

class Settings;

/// Returns whether a path is a folder; false where the system cannot tell.
bool is_folder(const std::string& path);

/// Adds the size and the time of the last writing of a local file to a hash; of one that is not there, zeros.
std::uint64_t fingerprint_of_file(const std::string& path, std::uint64_t before);

/// All files below a folder or in an archive, listed once when opened. Names are relative paths, sorted by their bytes,
/// which need not be UTF-8. Hidden files (any part starts with a dot) are left out, and so are those that systems add
/// to folders (__MACOSX, Thumbs.db …). Const methods may be called from any thread.
class Files {
 public:
  /// Opens and lists. Throws UserError(data) if it cannot be listed (see scan_tar for archives).
  explicit Files(const std::string& path);

  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t index) const { return names_[index]; }
  /// Returns the folders without a listed file, sorted; in an archive those that have an entry of their own.
  const std::vector<std::string>& empty_folders() const { return empty_folders_; }
  /// Returns the hidden folders, sorted: all files below them are left out.
  const std::vector<std::string>& hidden_folders() const { return hidden_folders_; }
  std::optional<std::size_t> find(std::string_view name) const;
  /// Returns the files whose names start with `prefix`: [first, last).
  std::pair<std::size_t, std::size_t> range(std::string_view prefix) const;
  std::uint64_t size_bytes(std::size_t index) const;
  /// Replaces `into` by a file's bytes. Both throw SampleError with the file's path and the system's text.
  void read(std::size_t index, std::vector<std::byte>& into) const;
  /// Returns body(source, offset, size_bytes) with the place of a file's bytes. Throws as read(): a std::runtime_error
  /// of `body` other than UserError becomes a SampleError with the file's path before it.
  template <class Body>
  auto use(std::size_t index, Body&& body) const {
    return guarded(index, [&] { return opened(index, body); });
  }
  /// Passes a file of any length to `body`, which must not keep it. Throws UserError(data) if it cannot be read.
  void stream(std::size_t index, const std::function<void(std::istream&)>& body) const;
  /// Returns "folder/name" or "archive.tar:name", for messages: in UTF-8 (see as_utf8).
  std::string describe(std::size_t index) const { return describe(names_[index]); }
  std::string describe(std::string_view name) const;
  /// Describes a folder, without the separators at its end.
  std::string describe_folder(std::string_view folder) const;
  /// Returns the path of a file of a folder, as the system knows it.
  std::string path(std::size_t index) const;
  /// Adds the version of a file, or of the archive that holds it, to a hash: see fingerprint_of_file().
  std::uint64_t version(std::size_t index, std::uint64_t before) const;

 private:
  struct Extent {
    std::uint64_t offset, size_bytes;
  };
  void list_folder();
  void list_archive();
  void sort();
  void sort_folders();
  void note_hidden(std::string_view name);
  template <class Body>
  auto guarded(std::size_t index, Body&& body) const {
    try {
      return body();
    } catch (const UserError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(index) + ": " + error.what());
    }
  }
  /// Calls body(descriptor, offset, size_bytes) with the place of the file's bytes.
  template <class Body>
  auto opened(std::size_t index, Body&& body) const {
    if (!is_folder_) return body(source_, extents_[index].offset, extents_[index].size_bytes);
    const auto file = Descriptor::file(names_[index].data(), &source_);
    return body(file, std::uint64_t{0}, file.size_bytes());
  }

  std::string path_;
  bool is_folder_;
  Descriptor source_;
  Names names_;
  std::vector<Extent> extents_;        ///< extents of an archive's files
  std::uint64_t archive_version_ = 0;  ///< version of the archive when it was opened
  std::vector<std::string> empty_folders_, hidden_folders_;
};

/// Returns whether any part of a path is hidden (it starts with a dot) or was added by a system.
bool is_hidden(std::string_view path);

/// Throws UserError(data), with the place of the key `path`, for an address, from which a data set does not read.
void refuse_address(const Settings& settings);

/// Opens the folder or archive that the key `path` names. Throws UserError(data), with the place of the key, if it is
/// empty, an address, or names nothing that exists.
Files open_files(const Settings& settings);

/// Returns a name's extension, in lower case without the dot: "jpg" of "a/b.c.JPG"; empty if the last part has none.
std::string ending_of(std::string_view name);

/// The extensions of image files that can be decoded, for messages.
inline constexpr const char* picture_endings = ".jpg, .jpeg, .jpe, .jfif, .png, .webp";
/// Returns whether a name has one of them, in any case.
bool is_picture(std::string_view name);
/// Returns whether a name has the extension of an image format that cannot be decoded.
bool is_other_picture(std::string_view name);
/// The extensions of recordings that can be decoded, for messages.
inline constexpr const char* sound_endings = ".wav, .flac, .ogg, .oga, .opus, .mp3";
/// Returns whether a name has one of them, in any case.
bool is_sound(std::string_view name);
/// Returns whether a name has the extension of an audio format that cannot be decoded.
bool is_other_sound(std::string_view name);

}  // namespace flowtrain
