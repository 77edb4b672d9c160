#pragma once
// Writes metrics.jsonl as a table, for spreadsheets and other readers of CSV.

#include <filesystem>
#include <functional>
#include <string>

namespace flowtrain {

/// Writes the lines of one kind (RFC 4180): a row for each, a column for each key of any of them except `kind`, in the
/// order of their first appearance. A missing or null value is an empty cell; numbers keep their bits. An incomplete
/// last line is left out. It reads the file twice, and keeps one line of it. Throws UserError: data for a file that
/// cannot be read, usage for a kind that it does not have, with those that it has.
void write_metrics_csv(const std::filesystem::path& file, const std::string& kind,
                       const std::function<void(const std::string& line)>& write);

}  // namespace flowtrain
