#pragma once
// Files that a whole data set depends on, read into memory: here a failure is not that of one sample.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

/// A file's bytes. Throws UserError(data), naming the file, if it cannot be read or has more than `max_bytes` bytes.
std::vector<std::byte> read_needed(const Files& files, std::size_t index, std::uint64_t max_bytes = max_sample_bytes);

/// A file's bytes; those of a gzip file (told by its first bytes, RFC 1952) unpacked. Throws UserError(data), naming
/// the file, if it cannot be read or its compressed data are damaged. Memory grows only with what is really there.
std::vector<std::byte> read_whole(const Files& files, std::size_t index);

/// Unpacks gzip data of one member or several; `name` is what an error calls them. Data that unfold to more than 100
/// times their size, beyond the first 16 MiB, are refused.
std::vector<std::byte> gunzip(const std::vector<std::byte>& packed, const std::string& name);

}  // namespace flowtrain
