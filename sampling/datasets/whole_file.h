#pragma once
// Reads files that a whole data set depends on into memory; a failure concerns more than one sample.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

/// Reads a file. Throws UserError(data), naming the file, if it cannot be read or has more than `max_bytes` bytes.
std::vector<std::byte> read_needed(const Files& files, std::size_t index, std::uint64_t max_bytes = max_sample_bytes);

/// Reads a file, and unpacks a gzip file (recognised by its first bytes, RFC 1952). Throws UserError(data), naming the
/// file, if it cannot be read or its compressed data are damaged. Memory grows only with the actual data.
std::vector<std::byte> read_whole(const Files& files, std::size_t index);

/// Unpacks gzip data of one member or several; `name` is their name in errors. Data that unpack to more than 100 times
/// their size, beyond the first 16 MiB, are refused.
std::vector<std::byte> gunzip(const std::vector<std::byte>& packed, const std::string& name);

}  // namespace flowtrain
