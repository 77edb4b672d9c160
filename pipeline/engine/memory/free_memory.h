#pragma once
// How much memory this machine has left for a process.

#include <cstdint>
#include <filesystem>

namespace flowtrain {

/// Bytes that can be had without swapping, as Linux estimates it (MemAvailable), and as the control groups of this
/// process allow (containers, Slurm; both versions of them), and its limit of addresses (ulimit -v). `root`: of the
/// file system that /proc and /sys are in.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

}  // namespace flowtrain
