#pragma once
// Reads lines of text files that people and other programs write: lists of names, weights, classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// Removes additions of editors from a line of text: the byte order mark of UTF-8 before the first line (`number` 1),
/// and a carriage return at its end. Throws UserError(data) that begins with `name` for a text in UTF-16 or UTF-32, or
/// packed by gzip, which shows in its first line.
std::string_view clean_line(std::string_view line, std::uint64_t number, const std::string& name);
/// Returns a line without the byte order mark of a file's first line, and without the CR of a line from Windows.
std::string_view without_marks(std::string_view line, std::uint64_t number);

/// Returns how many bytes at the beginning of a file are the mark of UTF-8 (BOM): 3 or 0. Throws UserError(data) that
/// begins with `name` for a file in UTF-16, and for one that gzip packed.
std::uint64_t mark_bytes(const ByteSource& file, const std::string& name);

/// Returns the clean lines of a whole text; the last one may lack its newline. The views point into `text`. Throws like
/// clean_line().
std::vector<std::string_view> text_lines(std::string_view text, const std::string& name);

/// Returns the clean lines of a file. Throws UserError(data) if it cannot be read, and like clean_line().
std::vector<std::string> read_text_lines(const std::filesystem::path& path);

}  // namespace flowtrain
