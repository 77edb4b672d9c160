#pragma once
// Records that are given to `flowtrain predict` as a table's rows, as requests or as single files, with the parts that
// a net learnt from.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/inference/predict/input.h"
#include "sampling/dataset.h"
#include "sampling/datasets/class_folders.h"
#include "sampling/datasets/tables/segments.h"
#include "sampling/datasets/tables/table.h"

namespace flowtrain {

/// Returns whether a field holds texts that divide validation into groups, such as speakers: no net reads these.
bool only_groups(const Config& config, const Settings& field);

/// The parts that the fields of a run are made from.
struct LearntParts {
  std::vector<PartForm> forms = {};       ///< RunInputs::parts, without those of targets that predictions can lack
  std::vector<std::string> targets = {};  ///< names of those that only classes are made from: nobody gives them
  bool picture = true;                    ///< whether a field is made from the record's own picture
  std::uint32_t channels = 1;             ///< channels that recordings need at least

  /// Finds them by the tables [[field]]. Predictions need no part that only_groups().
  static LearntParts of(const Config& config, std::vector<PartForm> forms);
  /// Returns "text, numbers".
  std::string names() const;
  /// Returns the only part that a prediction needs if it is a recording, else null.
  const PartForm* recording() const;
};

/// The value of a part: bytes and shape as in a record, or the path of a file with them.
struct GivenPart {
  std::vector<std::byte> bytes = {};
  std::vector<std::int64_t> shape = {};
  std::string path = {};
  SoundSegment segment = {};  ///< the part of a recording in the file
};

/// Returns a value for records that lack the part: zeros, "-0.0", a grey picture, a quarter of a second of a tone.
GivenPart blank_part(const PartForm& form, std::uint32_t channels = 1);

/// Returns the keys of the data set `manifest` with their defaults.
Settings usual_table_settings();

/// Finds records, which the InputFinder then lists as it lists pictures.
class RecordFinder {
 public:
  /// Both outlive it.
  RecordFinder(const Config& config, const LearntParts& parts) : config_(config), parts_(parts) {}

  /// Returns whether the net learnt from more than pictures.
  bool any() const { return !parts_.forms.empty(); }
  /// Returns the kind of the files that folders and archives are searched for: recordings if these are all that the
  /// net needs, else pictures.
  const FileKind& files() const { return parts_.recording() ? sound_files : picture_files; }
  /// Returns whether a file holds records, and is none of files() itself: a table, also Parquet on a server, a file of
  /// the run's kind of data set, or the only part that the net needs.
  bool takes(const std::string& path) const;
  /// Returns an input for each record of such a file. What cannot be opened is one Input with a `problem`.
  std::vector<Input> find(const std::string& path) const;
  /// Returns the input that a single file is, also one that is not there; nothing where the net takes it as it stands:
  /// pictures and recordings.
  std::optional<Input> file(const std::string& path) const;
  /// Returns whether one file never is a record: the net learnt from several parts.
  bool needs_rows() const;
  /// Returns the names of the parts that the net learnt from, for messages.
  std::string names() const { return parts_.names(); }
  /// Returns the record of a request, a JSON object whose values are read as those of a table in JSON lines; but its
  /// texts are never names of files, unless the data set `manifest` had files there. Nothing if no value has the name
  /// of a part.
  std::optional<Input> row(std::string request) const;
  /// Returns a request as an example: {"text": "…", "id": 1}.
  std::string example() const;
  /// Returns the keys of the data set `manifest` by which tables are read: the run's, or else the usual ones.
  Settings table_settings() const;

 private:
  std::size_t needed() const { return parts_.forms.size() - parts_.targets.size(); }
  Input only_part(const std::string& path) const;
  /// Returns whether the texts of a column are in files that it names, as they were in training.
  bool holds_files(const TableColumn& column, bool of_request) const;
  Input input_of(std::string name, const Table& table, std::size_t row, bool of_request,
                 const SoundSegment& segment) const;
  std::vector<Input> rows_of(const std::string& path) const;
  /// Returns the segments of the rows' recordings, by the columns of the data set `manifest`; else none.
  std::vector<SoundSegment> segments_of(const Table& table) const;
  std::vector<Input> records_of(const std::string& path) const;
  std::shared_ptr<const Dataset> open_records(const std::string& path, const DatasetInput& input) const;

  const Config& config_;
  const LearntParts& parts_;
};

}  // namespace flowtrain
