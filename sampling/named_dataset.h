#pragma once
// The interface of data sets whose records have names.

#include <string>

#include "sampling/dataset.h"

namespace flowtrain {

/// A data set that can be split by names (sampling/sources/hold_out.h).
class NamedDataset : public Dataset {
 public:
  /// Returns the name of a record within its data set, which does not depend on the data set's folder or other records.
  /// Records that belong together (parts of one image) share it.
  virtual std::string name(std::uint64_t id) const = 0;
  /// Returns false if training and validation get the same records, because no split was named or found.
  virtual bool has_split() const { return true; }
  /// Returns the place of the records, for a run's first lines: "pets/train". Empty: the configuration says it.
  virtual std::string place() const { return {}; }
  /// Returns sentences on unused files beside the records.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Returns the name of a record of a NamedDataset; for other data sets its number.
inline std::string name_of(const Dataset& dataset, std::uint64_t id) {
  const auto* named = dynamic_cast<const NamedDataset*>(&dataset);
  return named ? named->name(id) : std::to_string(id);
}

}  // namespace flowtrain
