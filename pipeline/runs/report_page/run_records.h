#pragma once
// Reads the small files of a run's folder for a page. Missing or damaged files are null or empty.

#include <filesystem>
#include <nlohmann/json.hpp>

namespace flowtrain {

/// Reads env.json: an object whose `gpus` are objects; or null.
nlohmann::ordered_json environment_of(const std::filesystem::path& file);

/// Returns graph.json's `graph` with nodes and edges that can be drawn: names and labels are texts; or null.
nlohmann::ordered_json drawable_graph(const nlohmann::ordered_json& graph);

/// Reads confusion.csv: {"classes":["cat",…],"rows":[[count,…],…]}, or null.
nlohmann::ordered_json confusion_of(const std::filesystem::path& file);

/// Reads the first 100 lines of bad_samples.jsonl: {"count":…,"lines":[…]}.
nlohmann::ordered_json bad_samples_of(const std::filesystem::path& file);

}  // namespace flowtrain
