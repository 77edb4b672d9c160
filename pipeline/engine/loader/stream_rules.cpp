#include "pipeline/engine/loader/stream_rules.h"

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/decides.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"
#include "sampling/io/path_hash.h"

namespace flowtrain {
namespace {

// Returns whether a key belongs to what identifies a stream. A validation has an order of its own.
bool is_of_stream(const std::string& key, bool training) {
  const Decides decides = decided_by(key);
  if (decides == Decides::nothing || has(decides, Decides::no_stream)) return false;
  if (key.starts_with("data.")) return key.starts_with("data.val.") != training;
  return has(decides, training ? Decides::order | Decides::rows : Decides::rows);
}

}  // namespace

void check_seed(const Config& config) {
  if (const auto seed = config.run().seed; !number(seed))
    throw seed.error("expected a number: a stream needs a seed to be resumed");
}

void check_batch(std::uint64_t batch, std::uint64_t samples, std::uint64_t world, bool drop_last) {
  if (batch < world)
    throw UserError(ExitCode::usage, concat("a batch of ", batch, " rows for ", world, " ranks"),
                    "each rank needs a row at least");
  if (drop_last && samples < batch)
    throw UserError(ExitCode::usage,
                    concat("drop_last leaves no batch: the data set has ", samples, " samples, a batch has ", batch),
                    "take smaller batches, or keep the last one");
}

std::map<std::string, std::string> stream_basis(const Config& config, bool training, const Dataset& dataset,
                                                std::uint64_t samples, std::uint64_t batch) {
  std::map<std::string, std::string> basis{{"records", hash_hex(dataset.fingerprint())},
                                           {"samples", std::to_string(samples)}};
  for (auto& [key, value] : common_values(config))
    if (is_of_stream(key, training)) basis[key] = value;
  // The contents of a file count, wherever it lies.
  for (auto& file : files_of(config))
    if (const auto named = basis.find(file.key); named != basis.end())
      if (const auto hash = xxh64_of_path(file.path)) named->second = concat("contents ", *hash);
  // Sources that fill whole batches, or epochs of so many batches, make the order depend on the batch.
  const Settings& data = config.data(true);
  if (training && !config.list("data.source").empty() &&
      (data.text("batches") == "one_source" || number(data, "epoch")))
    basis["loader.batch"] = std::to_string(batch);
  return basis;
}

}  // namespace flowtrain
