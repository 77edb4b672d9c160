#pragma once
// Compares two nets on the same samples: `flowtrain test A B`.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "pipeline/inference/evaluation/significance.h"
#include "pipeline/inference/evaluation/test_part.h"
#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

class Interrupt;

/// The difference between two parts of a test.
struct Comparison {
  std::uint64_t samples = 0;  ///< samples that both were measured on; with a label, if labels are compared
  std::string metric = {};    ///< "accuracy"; for a detector "ap"; else "loss"
  double a = 0, b = 0;        ///< the values of the metric
  bool has_right_samples =
      true;  ///< whether single samples are right or wrong, as those of classifiers and detectors are
  std::uint64_t only_a = 0,
                only_b = 0;  ///< samples that only one gets right; for a detector, pictures without an error
  double p = 1;              ///< by McNemar's test for a classifier, else by the bootstrap
  std::optional<BootstrapInterval> bootstrap = {};  ///< the interval of B's value minus A's; none for classifiers
  std::filesystem::path folder = {};                ///< holds the files about the comparison

  /// Returns "accuracy 0.9710 and 0.9690: 12 samples are right only for A, 10 only for B: p = 0.832 (McNemar)".
  std::string text() const;
};

/// The options of a comparison.
struct CompareOptions {
  std::size_t resamples = 1000;  ///< the number of bootstrap resamples
  std::uint64_t seed = 1;        ///< seeds the bootstrap's draws
  std::size_t pictures = 16;  ///< the number of samples to draw that only A gets right, and of those that only B does
  Decoding decoding = {};     ///< decodes those pictures
  Interrupt* interrupt = nullptr;  ///< deferred while results are published; may be null
};

/// Compares two parts by the files that write_part() made. Publishes, whole or not at all, the folder
/// <A's folder>-vs-<B's run>-<B's snapshot>:
///   comparison.json    all of Comparison
///   differences.jsonl  a line for each sample that only one gets right: "id", "name", "right": "a" or "b", "label",
///                      and "a" and "b" with "prediction", "score" and "loss"; of a detector with "false_negatives"
///                      and "false_positives"
///   only-a-00.png …    such samples as they are stored; of a detector with the boxes that each found: only-a-00-a.png,
///                      only-a-00-b.png
/// Detectors are compared by paired_bootstrap() of their average precision over pictures, nets whose samples are
/// neither right nor wrong by that of the loss. Rows that stand for bad samples are left out. `dataset`: A's. Throws
/// UserError: data where the parts were not measured on the same samples, snapshot for files.
Comparison compare_parts(const TestPart& a, const TestPart& b, const Dataset& dataset, const CompareOptions& options);

}  // namespace flowtrain
