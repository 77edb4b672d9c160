#pragma once
// The small files of a run's folder, as far as a page shows them. What is missing or damaged is null or empty.

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace flowtrain {

/// The file's text, at most `most` bytes; empty where it cannot be read.
std::string text_of_file(const std::filesystem::path& file, std::size_t most = 4 << 20);
/// The file's JSON, or null.
nlohmann::ordered_json json_of_file(const std::filesystem::path& file);

/// Of confusion.csv: {"classes":["cat",…],"rows":[[count,…],…]}, or null.
nlohmann::ordered_json confusion_of(const std::filesystem::path& file);

/// Of train.log: {"count":…,"lines":[{"time":"…","level":"warning","text":"…","times":1},…]}: its warnings and errors,
/// each text once with its first time, the newest 100 of them.
nlohmann::ordered_json warnings_of(const std::filesystem::path& log);

/// Of bad_samples.jsonl: {"count":…,"lines":[…]}: the first 100.
nlohmann::ordered_json bad_samples_of(const std::filesystem::path& file);

}  // namespace flowtrain
