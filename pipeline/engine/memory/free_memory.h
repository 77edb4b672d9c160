#pragma once
// The memory that this machine has left for a process.

#include <cstdint>
#include <filesystem>

namespace flowtrain {

/// Returns the bytes that are available without swapping, by Linux' estimate (MemAvailable), the control groups of this
/// process (containers, Slurm; both versions of them), and its limit of addresses (ulimit -v). `root` is the root of
/// the file system with /proc and /sys.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

}  // namespace flowtrain
