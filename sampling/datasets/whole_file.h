#pragma once
// Files that a data set keeps in memory as a whole.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

/// A file's bytes; those of a gzip file (told by its first bytes, RFC 1952) unpacked. Throws UserError(data), naming
/// the file, if it cannot be read or its compressed data are damaged. Memory grows only with what is really there.
std::vector<std::byte> read_whole(const Files& files, std::size_t index);

/// Unpacks gzip data of one member or several; `name` is what an error calls them. Data that unfold to more than 100
/// times their size, beyond the first 16 MiB, are refused.
std::vector<std::byte> gunzip(const std::vector<std::byte>& packed, const std::string& name);

}  // namespace flowtrain
