#pragma once
// metrics.jsonl as a table, for spreadsheets and whatever else reads CSV.

#include <filesystem>
#include <functional>
#include <string>

namespace flowtrain {

/// The lines of one kind (RFC 4180): a row for each, a column for each key that one of them has, in the order in which
/// they turn up; `kind` has none. What a line lacks, and null, is an empty cell; numbers keep their bits. A line that
/// is being written is left out. Reads the file twice, and keeps one line of it. Throws UserError: data for a file that
/// cannot be read, usage for a kind that it does not have, with those that it has.
void write_metrics_csv(const std::filesystem::path& file, const std::string& kind,
                       const std::function<void(const std::string& line)>& write);

}  // namespace flowtrain
