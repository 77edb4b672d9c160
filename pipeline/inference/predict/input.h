#pragma once
// Finds the pictures, recordings and records that `flowtrain predict` gets, and where their bytes are.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/remote/remote.h"

namespace flowtrain {

class Dataset;
class RecordFinder;
struct FileKind;

/// One picture or recording: a file, a file in a tar archive, or an address (http, https, s3). Or a record of several
/// parts.
struct Input {
  std::string name;  ///< the name in results: "a/1.jpg", "a.tar:1.jpg", "https://…/1.jpg"
  std::shared_ptr<const ByteSource> archive = {};   ///< the archive that holds it, if one does
  std::uint64_t offset = 0, size_bytes = 0;         ///< the place of its bytes in the archive
  std::shared_ptr<const RemoteAccess> remote = {};  ///< set for an address
  std::shared_ptr<const Dataset> records = {};      ///< set for a record: the data set that has it
  std::uint64_t record = 0;                         ///< number of the record there
  std::string problem = {};                         ///< the reason why it cannot be read; empty: it can
};

/// Finds inputs by the arguments of a command line.
class InputFinder {
 public:
  /// `records` finds those of files that hold records; null: all files are pictures. It outlives this.
  explicit InputFinder(const RecordFinder* records = nullptr) : records_(records) {}

  /// The inputs that a word names: a file of any name; the files of RecordFinder::files() (pictures, or recordings)
  /// below a folder, sorted by name, and in a .tar archive, in its order, without hidden ones; the files that match a
  /// pattern as of glob(7).
  /// A file of records names all of them. Files and archives may be on a server. What is not there or cannot be listed
  /// is one Input with a `problem`. Throws UserError(data) for an address where there is no libcurl.
  std::vector<Input> find(const std::string& word);
  /// Returns a single file or address, which is not looked up before it is read.
  Input single(const std::string& name);
  /// Returns what may find the record of a request; may be null.
  const RecordFinder* records() const { return records_; }

 private:
  const FileKind& kind() const;
  std::vector<Input> find_plain(const std::string& word);
  std::vector<Input> find_in_archive(const std::string& word);
  const std::shared_ptr<const RemoteAccess>& access();

  const RecordFinder* records_;
  std::shared_ptr<const RemoteAccess> access_;  // made for the first address
};

}  // namespace flowtrain
