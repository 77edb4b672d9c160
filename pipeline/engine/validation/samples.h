#pragma once
// Collects samples that people look at one by one after a validation (val.pictures): the same ones each time, and the
// worst ones (RowResult::badness).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/engine/validation/detection.h"
#include "sampling/codecs/image.h"
#include "sampling/dataset.h"
#include "stages/core/group.h"
#include "stages/loader/shown_row.h"
#include "stages/loader/slab.h"
#include "stages/model/row_results.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// Chooses the samples of a validation set that are shown.
struct SampleChoice {
  const Dataset& dataset;  ///< The data of the set.
  std::size_t most;        ///< The number of samples that a validation shows, and of those with the greatest loss.
  /// Returns whether a validation shows this record if it meets it.
  std::function<bool(std::uint64_t)> chooses;
  Decoding decoding = {};  ///< The decoding of the set's sampler.
};

/// Returns a function that says whether a record is among `count` chosen ones of the records 0 … size - 1. The seed
/// chooses one from each of `count` parts of equal length, so classes are about as frequent as in the set, also if the
/// set is sorted by class. The function needs no memory, however large the set is.
std::function<bool(std::uint64_t)> spread_records(std::uint64_t size, std::uint64_t count, std::uint64_t seed);

/// Returns the class of a batch's row, by its field `label`; -1 if there is no such whole number.
std::int64_t label_of(const Slab& slab, std::size_t row);

/// One sample that a validation shows.
struct SampleResult {
  std::uint64_t id = 0;                 ///< The record.
  std::int64_t label = -1;              ///< The class; -1: none.
  RowResult result = {};                ///< The result of the net.
  Image picture = {};                   ///< The net's input before it was normalised; no pixels if it is no picture.
  std::vector<ShownField> fields = {};  ///< The fields of the row beside the picture and the class.
  std::vector<Box> boxes = {};          ///< The annotated boxes.
  std::vector<Detection> found = {};    ///< The objects that a detector found.
};

/// Gives the sample the fields of its row: the picture of `image`, or else of the first field that has one, and all
/// fields that neither this picture nor the class tells.
void take_fields(SampleResult& sample, std::vector<ShownField> fields);

/// The samples of one set that a validation shows.
struct ShownSamples {
  std::string set = {};                    ///< The name of the [[val.set]]; empty: [data.val].
  std::string kind = "samples";            ///< RowResults::kind, or "detect".
  std::vector<std::string> classes = {};   ///< The names in label order.
  std::vector<SampleResult> samples = {};  ///< The chosen ones, by record.
  std::vector<SampleResult> worst = {};    ///< The worst ones, in this order; empty if rows have no loss.
  /// Further lists of worst samples, by name, of a test with several rules.
  std::vector<std::pair<std::string, std::vector<SampleResult>>> worst_by = {};
};

/// Collects the samples during one validation. One thread calls. It holds only the samples that it has found.
class SampleCollector {
 public:
  explicit SampleCollector(const SampleChoice& choice) : choice_(choice) {}

  /// Measures a batch, and takes the rows that are to be shown, with results if the validator is a RowValidator.
  void validate(Validator& validator, Slab& slab);
  /// Returns those of the records that are shown.
  std::set<std::uint64_t> chosen_of(const std::set<std::uint64_t>& records) const;
  /// Takes a detector's result, if the record is shown and its picture could be read.
  void add(const DetectedImage& detected);
  /// Returns the samples of all processes in rank 0, and nothing in the others. A collective.
  ShownSamples gather(Group& group);

 private:
  /// The order of worst samples: the greatest RowResult::badness() comes first, of equal ones the lower record.
  using Rank = std::pair<double, std::uint64_t>;

  void add_worst(const Slab& slab, std::size_t row, const RowResult& result);
  void agree_on_worst(Group& group);
  std::string packed() const;
  void unpack(std::string_view bytes);

  const SampleChoice& choice_;
  std::string kind_ = "samples";
  std::map<std::uint64_t, SampleResult> chosen_;  // by record
  std::map<Rank, SampleResult> worst_;            // at most choice_.most, by minus the badness and record
};

}  // namespace flowtrain
