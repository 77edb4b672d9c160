#pragma once
// Samples that people look at one by one after a validation (val.pictures): the same each time, and those with the
// greatest loss.

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
#include "stages/loader/slab.h"
#include "stages/model/row_results.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// Which samples of a validation set are shown.
struct SampleChoice {
  const Dataset& dataset;  ///< of the set
  std::size_t most;        ///< samples that one validation shows, and as many with the greatest loss
  /// Whether a record is among those that a validation shows where it meets them.
  std::function<bool(std::uint64_t)> chooses;
  Decoding decoding = {};  ///< that of the set's sampler
};

/// Whether a record is among `count` of the records 0 … size - 1, or all: one from each of `count` parts of equal
/// length, drawn by the seed. So each class is there as often as in the set, roughly, whether the set is sorted by
/// class or classes take turns. It needs no memory, however large the set is.
std::function<bool(std::uint64_t)> spread_records(std::uint64_t size, std::uint64_t count, std::uint64_t seed);

/// The class of a batch's row, by its field `label`; -1 where there is no such whole number.
std::int64_t label_of(const Slab& slab, std::size_t row);

/// What a validation shows of one sample.
struct SampleResult {
  std::uint64_t id = 0;               ///< record
  std::int64_t label = -1;            ///< class; -1: none
  RowResult result = {};              ///< of the net
  Image picture = {};                 ///< as the net got it, before it was normalised; no pixels: it is no picture
  std::vector<Box> boxes = {};        ///< annotated ones
  std::vector<Detection> found = {};  ///< by a detector
};

/// What a validation shows of one set.
struct ShownSamples {
  std::string set = {};                    ///< name of the [[val.set]]; empty: [data.val]
  std::string kind = "samples";            ///< as RowResults::kind, or "detect"
  std::vector<std::string> classes = {};   ///< names, in label order
  std::vector<SampleResult> samples = {};  ///< by record
  std::vector<SampleResult> worst = {};    ///< the greatest loss first; none where rows have no loss
  /// Further lists of worst samples, of a test with several rules: name and samples.
  std::vector<std::pair<std::string, std::vector<SampleResult>>> worst_by = {};
};

/// Collects them during one validation. One thread. Its memory is that of the samples it has found so far.
class SampleCollector {
 public:
  explicit SampleCollector(const SampleChoice& choice) : choice_(choice) {}

  /// Measures a batch, and takes what is to be shown of it: with results where the validator is a RowValidator.
  void validate(Validator& validator, Slab& slab);
  /// Of these records, those that are shown.
  std::set<std::uint64_t> chosen_of(const std::set<std::uint64_t>& records) const;
  /// Takes what a detector found, if the record is one that is shown and its picture could be read.
  void add(const DetectedImage& detected);
  /// Of all processes, in rank 0; the others get nothing. A collective.
  ShownSamples gather(Group& group);

 private:
  /// The greatest loss comes first; of equal ones the lower record.
  using Rank = std::pair<double, std::uint64_t>;

  void add_worst(const Slab& slab, std::size_t row, const RowResult& result);
  void agree_on_worst(Group& group);
  std::string packed() const;
  void unpack(std::string_view bytes);

  const SampleChoice& choice_;
  std::string kind_ = "samples";
  std::map<std::uint64_t, SampleResult> chosen_;  // by record
  std::map<Rank, SampleResult> worst_;            // at most choice_.most; by minus the loss, and record
};

}  // namespace flowtrain
