#pragma once
// Compares two runs step by step: samples, what the sampler made of them, loss, gradient norm, weights and optimizer.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain {

/// The kinds of values that can differ, in the order in which a step makes them: a difference causes later ones.
enum class Compared { ids, field, loss, grad_norm, model, optimizer, validation };

/// A difference between two runs.
struct RunDifference {
  std::uint64_t iteration = 0;
  std::string file;  ///< the file of both runs that shows it: "verify.jsonl"
  std::optional<std::size_t> row =
      {};  ///< ids and fields: the row in the batch of all processes and micro-batches, from 0
  std::optional<std::uint64_t> id_a = {}, id_b = {};  ///< the records in that row
  std::string name = {};                              ///< the name of the tensor, or of a validation's metric
  std::string a, b;                                   ///< the values, or their hashes
};

/// A part that was compared, over all iterations for which both runs have it.
struct ComparedPart {
  Compared kind = Compared::ids;
  std::string name;                           ///< "ids", the field's name, "loss", …
  std::uint64_t iterations = 0;               ///< the number of compared iterations
  std::vector<std::uint64_t> different = {};  ///< the iterations that differ, in order
  std::uint64_t equal_until = 0;              ///< the last compared iteration before these; 0: none
  std::optional<RunDifference> first = {};
  /// The greatest |a - b| / max(|a|, |b|) of loss and gradient norm.
  double greatest = 0;
};

/// The result of a comparison.
struct RunComparison {
  std::vector<ComparedPart> parts;                   ///< in the order of Compared
  std::uint64_t iterations = 0, begin = 0, end = 0;  ///< the number of compared iterations; the first and the last one
  std::uint64_t last_a = 0, last_b = 0;              ///< the last iteration of each run
  int ranks_a = 0, ranks_b = 0;                      ///< processes; 0: unknown
  bool journal_a = false, journal_b = false;         ///< there is a verify.jsonl

  /// Returns the part that explains the others best; null if the runs are the same as far as both go. It is the part
  /// that differs first, unless one that comes earlier in a step differs, too, and is not known to be equal until then.
  const ComparedPart* first() const;
  bool differs() const { return first() != nullptr; }
};

/// Compares the runs in these two folders by what both have: journals of hashes, of which the common iterations count,
/// metrics.jsonl, and the manifests of snapshots of the same iteration. Throws UserError: usage if a folder holds no
/// run, data if the runs have no iteration in common or a journal is damaged.
RunComparison compare_runs(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace flowtrain
