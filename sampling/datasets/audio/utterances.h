#pragma once
// The data set of recordings and segments of recordings, with what lists say of them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/names.h"
#include "sampling/dataset.h"
#include "sampling/io/files.h"

namespace flowtrain {

class Settings;

/// A recording, or a segment of one.
struct Utterance {
  std::uint32_t recording;  ///< index of the file among Utterances::files, or else of the path
  std::int32_t label = -1;
  double begin = 0, end = -1;  ///< seconds; end < 0: to the end

  bool is_segment() const { return begin > 0 || end >= 0; }
};

/// The findings of the reader of a layout. Each list of all utterances has an entry for each, or none at all.
struct Utterances {
  std::optional<Files> files = {};         ///< the folder or archive that holds the recordings
  Names paths = {};                        ///< paths of the recordings if there are no `files`
  Names names = {};                        ///< names of these recordings, which do not depend on the folder
  std::vector<std::uint32_t> firsts = {};  ///< the first recording with the file of each; empty: each has its own
  std::vector<Utterance> all = {};
  Names texts = {}, speakers = {};
  std::vector<std::string> classes = {};
  std::uint64_t hash = 0;  ///< hash of what decides the records beside the names, texts, labels and times
  std::string base = {};   ///< beginning of the names in `files`, which is no part of the records' names
  bool has_split = false;
  std::string place = {};               ///< the folder or the list, in messages
  std::vector<std::string> notes = {};  ///< sentences on lists and folders that are not used
};

/// Counts what a reader leaves out, or what lacks something, and keeps an example.
class LeftOut {
 public:
  void add(const std::string& example) {
    if (count_++ == 0) first_ = example;
  }
  std::uint64_t count() const { return count_; }
  const std::string& first() const { return first_; }
  /// Warns "PLACE: 2 utterances have no line in text, for example a, and are left out", if there are any.
  void tell(const std::string& place, const std::string& kind, const std::string& lack) const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

/// Makes the data set, whose records have the parts `audio`, and `text` and `speaker` if there are such lists. Throws
/// EmptyDataset.
std::unique_ptr<Dataset> make_utterances(Utterances found, const DatasetInput& input);

/// Calls body(key, rest, place) for each line of a list: its first word, what follows behind blanks, and "path:line".
/// Throws UserError(data) for a text that is not UTF-8, and if two lines have one key.
void each_entry(std::string_view text, const std::string& path,
                const std::function<void(std::string_view, std::string_view, const std::string&)>& body);

/// Chooses the names of folders or lists that one side (training or validation) reads: the one that the key `split`
/// gives, in any case, or those that are called after splits (see choose_split), or else all. Adds to `found` what is
/// known of the split. Throws the key's error if there is no such name.
std::vector<std::string> choose_named(const std::vector<std::string>& names, const std::string& place, const char* what,
                                      const Settings& settings, bool training, Utterances& found);

}  // namespace flowtrain
