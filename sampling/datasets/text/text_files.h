#pragma once
// The files of a data set of texts, and the places of their records.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/datasets/text/text_index.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

class RemoteFile;
struct RemoteAccess;
struct Key;
class Settings;

struct TextFile {
  std::string path;                         ///< path of a local file, or a URL without user, password and query
  std::string name;                         ///< name within the data set
  std::unique_ptr<ByteSource> file = {};    ///< null: it is opened for each read, as there are too many to stay open
  const RemoteFile* remote = nullptr;       ///< `file` if it is remote, else null
  std::uint64_t begin = 0, size_bytes = 0;  ///< `begin`: bytes of its mark (BOM), which are no text
  TextIndex index = {};                     ///< lines or paragraphs; empty for whole files
};

struct TextFiles {
  std::vector<TextFile> all = {};  ///< sorted by name, unless `files` or a pattern of a server lists them
  std::shared_ptr<const RemoteAccess> access = {};  ///< access to remote files, else null
  bool has_split = false;                           ///< training and validation have files of their own
  std::string place = {};                           ///< the file, the folder or the pattern, for messages
  std::vector<std::string> notes = {};              ///< sentences on other files there that are not used
};

/// Makes the key `files`: patterns of the names of a folder's files.
Key text_files_key();

/// Returns whether a file's path within its folder is that of a pattern: `*`, `?` and `[a-z]` are parts of one name, as
/// in glob(7), and `**` is any number of folders. A pattern without a slash is one of the last name of a path.
bool fits_pattern(const std::string& pattern, const std::string& name);

/// Opens the files that the keys `path`, `files`, `split` and `split_names` name, several at once, and finds their
/// records. The index of a local file of at least 1 MiB is kept beside it (kept_index.h), that of a remote one in the
/// cache. Throws UserError: usage for patterns that cannot be read, data for files that are missing or cannot be read,
/// and for names that may or may not be splits; EmptyDataset if no file fits.
TextFiles open_text_files(const Settings& settings, TextUnit unit, bool training);

}  // namespace flowtrain
