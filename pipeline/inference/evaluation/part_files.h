#pragma once
// The folder of a part of a test.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline/engine/session/validation_data.h"
#include "pipeline/inference/evaluation/measurement.h"
#include "pipeline/inference/evaluation/test_part.h"

namespace flowtrain {

/// The most bytes of a summary.json that are read: many classes and metrics make a long one.
inline constexpr std::size_t most_summary_bytes = std::size_t{1} << 30;

/// Publishes the part's folder, whole or not at all; one that is there is replaced:
///   summary.json      {"snapshot", "iter", "set", "setting", "kind", "samples", "metrics": {…}, "inputs": {…}}
///   samples.jsonl     a line for each sample of the set, in its order: "id", "name"; of a classifier "label",
///                     "prediction", "score", "loss"; of others "loss", where they have one; "substitute": true for one
///                     that stands for a bad sample. Of a detector "image_id", "false_negatives", "false_positives"
///                     (errors_in), and "truth" and "found", lists of {"label", "bbox": [x, y, width, height]} with
///                     "area" and "ignore", or with "score"
///   results.json      of a detector: as MS COCO has it
///   confusion.csv, confusion.png      where val.metrics asks for `confusion`
///   pictures.json, 00.png …, worst-00.png …     the first `pictures` samples, and the worst ones by [[test.worst]]
/// `inputs`: what part_inputs() gave. Throws UserError(snapshot).
void write_part(const TestPart& part, const Measurement& measured, const ValidationData& set, std::size_t pictures,
                const nlohmann::ordered_json& inputs);

/// Returns the outcome that an earlier test wrote for the part, if it had the same inputs.
std::optional<PartOutcome> read_part(const TestPart& part, const nlohmann::ordered_json& inputs);

/// Returns the metrics as JSON, in their order; values that are not finite are null.
nlohmann::ordered_json metrics_json(const Scalars& scalars);

}  // namespace flowtrain
