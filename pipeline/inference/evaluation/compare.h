#pragma once
// Two nets on the same samples: `flowtrain test A B`.

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

/// How two parts differ.
struct Comparison {
  std::uint64_t samples = 0;             ///< that both were measured on: with a label, where labels are compared
  std::string metric = {};               ///< "accuracy", of a detector "ap", else "loss"
  double a = 0, b = 0;                   ///< its values
  bool tells_right = true;               ///< single samples are right or wrong: of classifiers and detectors
  std::uint64_t only_a = 0, only_b = 0;  ///< samples that only one gets right; of a detector: pictures without an error
  double p = 1;                          ///< McNemar's test of a classifier; else the bootstrap's
  std::optional<BootstrapInterval> bootstrap = {};  ///< of B's value minus A's; none for classifiers
  std::filesystem::path folder = {};                ///< for files about it

  /// "accuracy 0.9710 and 0.9690: 12 samples only A gets right, 10 only B: p = 0.832 (McNemar)".
  std::string text() const;
};

/// What to do for it.
struct CompareOptions {
  std::size_t resamples = 1000;    ///< of the bootstrap
  std::uint64_t seed = 1;          ///< of its draws
  std::size_t pictures = 16;       ///< of samples that only A gets right, and as many of B's
  Decoding decoding = {};          ///< of those pictures
  Interrupt* interrupt = nullptr;  ///< deferred while what was found is published; may be null
};

/// Compares two parts by the files that write_part() made. Publishes, whole or not at all, the folder
/// <A's folder>-vs-<B's run>-<B's snapshot>:
///   comparison.json    all of Comparison
///   differences.jsonl  a line for each sample that only one gets right: "id", "name", "right": "a" or "b", "label",
///   and
///                      "a" and "b" with "prediction", "score" and "loss"; of a detector with "missed" and "wrong"
///   only-a-00.png …    such samples as they are stored; of a detector with the boxes that each found: only-a-00-a.png,
///                      only-a-00-b.png
/// Detectors are compared by paired_bootstrap() of their average precision over pictures, nets whose samples are
/// neither right nor wrong by that of the loss. Rows that stand for bad samples are left out. `dataset`: A's. Throws
/// UserError: data where the parts were not measured on the same samples, snapshot for files.
Comparison compare_parts(const TestPart& a, const TestPart& b, const Dataset& dataset, const CompareOptions& options);

}  // namespace flowtrain
